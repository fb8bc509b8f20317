// mma, ldmatrix and cvt.pack: every value against plain loops, through the layouts of the PTX ISA.
#include <random>

#include "tests/device/virtual_harness.h"

namespace warpwright {
namespace {

using testing::hard_numbers;
using testing::kernel_of;
using testing::shape_of;
using testing::VirtualRun;

struct Shape {
  std::string name;
  int m, k;
  int a_registers, b_registers, c_registers;
};
const Shape kShapes[] = {{"m8n8k16", 8, 16, 1, 1, 2}, {"m16n8k16", 16, 16, 2, 1, 4}, {"m16n8k32", 16, 32, 4, 2, 4}};

// PTX ISA, `Matrix Fragments for mma.m16n8k32` and its neighbours: element i of a lane, 4 to a register of A and B.
struct Element {
  int row, column;
};
Element of_a(const Shape& shape, int lane, int i) {
  const int group = lane / 4, thread = lane % 4;
  if (shape.m == 8) return {group, thread * 4 + (i & 3)};
  if (shape.k == 16) return {i < 4 ? group : group + 8, thread * 4 + (i & 3)};
  const bool upper = i < 4 || (8 <= i && i < 12);
  return {upper ? group : group + 8, thread * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
Element of_b(int lane, int i) { return {lane % 4 * 4 + (i & 3) + (i < 4 ? 0 : 16), lane / 4}; }
Element of_c(int lane, int i) { return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)}; }

struct Product {
  Shape shape;
  bool a_signed, b_signed, saturate;
  std::vector<uint8_t> a, b;  // m x k, k x 8
  std::vector<int32_t> c;     // m x 8

  int64_t value(const std::vector<uint8_t>& of, bool is_signed, int index) const {
    const uint8_t byte = of[static_cast<size_t>(index)];
    return is_signed ? static_cast<int8_t>(byte) : byte;
  }
  int32_t expected(int row, int column) const {
    int64_t sum = c[static_cast<size_t>(row * 8 + column)];
    for (int k = 0; k < shape.k; ++k) sum += value(a, a_signed, row * shape.k + k) * value(b, b_signed, k * 8 + column);
    if (saturate) return static_cast<int32_t>(std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX));
    return static_cast<int32_t>(static_cast<uint32_t>(sum));
  }
};

std::string registers(const char* name, int count) {
  std::string out = "{";
  for (int i = 0; i < count; ++i) out += std::string(i > 0 ? ", " : "") + "%" + name + std::to_string(i);
  return out + "}";
}

std::string mma_text(const Product& product) {
  const Shape& shape = product.shape;
  return "mma.sync.aligned." + shape.name + ".row.col" + (product.saturate ? ".satfinite" : "") + ".s32." +
         (product.a_signed ? "s8" : "u8") + "." + (product.b_signed ? "s8" : "u8") + ".s32 " +
         registers("d", shape.c_registers) + ", " + registers("a", shape.a_registers) + ", " +
         registers("b", shape.b_registers) + ", " + registers("c", shape.c_registers) + ";\n";
}

// Runs it with each lane's registers loaded from and stored to memory; D over `%d`.
std::vector<int32_t> run_product(const Product& product, const std::string& mma) {
  const Shape& shape = product.shape;
  std::vector<uint8_t> a(size_t{32} * 16), b(size_t{32} * 8);
  std::vector<int32_t> c(size_t{32} * 4);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4 * shape.a_registers; ++i) {
      const Element at = of_a(shape, lane, i);
      a[static_cast<size_t>(lane * 16 + i)] = product.a[static_cast<size_t>(at.row * shape.k + at.column)];
    }
    for (int i = 0; i < 4 * shape.b_registers; ++i) {
      const Element at = of_b(lane, i);
      b[static_cast<size_t>(lane * 8 + i)] = product.b[static_cast<size_t>(at.row * 8 + at.column)];
    }
    for (int i = 0; i < shape.c_registers; ++i) {
      const Element at = of_c(lane, i);
      c[static_cast<size_t>(lane * 4 + i)] = product.c[static_cast<size_t>(at.row * 8 + at.column)];
    }
  }
  const std::string body = R"(
  .reg .b32 %a<4>; .reg .b32 %b<2>; .reg .b32 %c<4>; .reg .b32 %d<4>;
  mul.wide.u32 %rd4, %r0, 16; mul.wide.u32 %rd5, %r0, 8;
  add.s64 %rd6, %rd1, %rd4; add.s64 %rd7, %rd2, %rd5; add.s64 %rd8, %rd3, %rd4;
  ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%rd6];
  ld.global.v2.u32 {%b0, %b1}, [%rd7];
  ld.global.v4.u32 {%c0, %c1, %c2, %c3}, [%rd8];
  mov.u32 %d2, 0; mov.u32 %d3, 0;
)" + mma + "  st.global.v4.u32 [%rd8], {%d0, %d1, %d2, %d3};";
  VirtualRun run;
  const DeviceAddress da = run.upload(a, "a", true), db = run.upload(b, "b", true), dc = run.upload(c, "c");
  const Outcome outcome = run.run(kernel_of(body), shape_of(1, 32), {da, db, dc});
  EXPECT_TRUE(outcome.ok()) << outcome.message;
  const std::vector<int32_t> lanes = run.download<int32_t>(dc, c.size());
  std::vector<int32_t> out(static_cast<size_t>(shape.m) * 8);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < shape.c_registers; ++i) {
      const Element at = of_c(lane, i);
      out[static_cast<size_t>(at.row * 8 + at.column)] = lanes[static_cast<size_t>(lane * 4 + i)];
    }
  }
  return out;
}

void expect_exact(const Product& product, const std::string& mma) {
  const std::vector<int32_t> got = run_product(product, mma);
  for (int row = 0; row < product.shape.m; ++row) {
    for (int column = 0; column < 8; ++column) {
      ASSERT_EQ(got[static_cast<size_t>(row * 8 + column)], product.expected(row, column))
          << mma << " row " << row << " column " << column;
    }
  }
}

Product random_product(const Shape& shape, bool a_signed, bool b_signed, bool saturate, std::mt19937& random) {
  Product out{shape, a_signed, b_signed, saturate, {}, {}, {}};
  for (int i = 0; i < shape.m * shape.k; ++i) out.a.push_back(static_cast<uint8_t>(random()));
  for (int i = 0; i < shape.k * 8; ++i) out.b.push_back(static_cast<uint8_t>(random()));
  for (const uint32_t value : hard_numbers(static_cast<size_t>(shape.m) * 8, static_cast<uint32_t>(random())))
    out.c.push_back(static_cast<int32_t>(value));
  return out;
}

TEST(VirtualTensorCore, EveryShapeAndMixOfSigns) {
  std::mt19937 random(1);
  for (const Shape& shape : kShapes) {
    for (int form = 0; form < 8; ++form) {
      const Product product = random_product(shape, (form & 1) != 0, (form & 2) != 0, (form & 4) != 0, random);
      expect_exact(product, mma_text(product));
    }
  }
}

// All operands at their ends, and sums that pass both ends of s32: wrapped, or held with .satfinite.
TEST(VirtualTensorCore, Extremes) {
  for (const Shape& shape : kShapes) {
    for (int form = 0; form < 8; ++form) {
      for (const auto& [a, b] : {std::pair{0x80, 0x80}, {0x80, 0x7f}, {0x7f, 0x80}, {0xff, 0xff}, {0xff, 0x7f}}) {
        Product product{shape, (form & 1) != 0, (form & 2) != 0, (form & 4) != 0, {}, {}, {}};
        product.a.assign(static_cast<size_t>(shape.m) * static_cast<size_t>(shape.k), static_cast<uint8_t>(a));
        product.b.assign(static_cast<size_t>(shape.k) * 8, static_cast<uint8_t>(b));
        for (int i = 0; i < shape.m * 8; ++i) product.c.push_back(i % 3 == 0 ? INT32_MAX : i % 3 == 1 ? INT32_MIN : -i);
        expect_exact(product, mma_text(product));
      }
    }
  }
}

TEST(VirtualTensorCore, ResultsMayLieOverOperands) {
  std::mt19937 random(2);
  const Product product = random_product(kShapes[2], true, true, false, random);
  const std::string moved = "mov.u32 %d0, %a0; mov.u32 %d1, %a1; mov.u32 %d2, %c2; mov.u32 %d3, %b1;\n";
  expect_exact(product, moved +
                            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%d0, %d1, %d2, %d3}, "
                            "{%d0, %d1, %a2, %a3}, {%b0, %d3}, {%c0, %c1, %d2, %c3};\n");
}

TEST(VirtualTensorCore, AllLanesMustTakePart) {
  const std::string mma = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1,%r2}, {%r3}, {%r4}, {%r1,%r2};";
  const std::string matrix = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [tile];";
  for (const bool checked : {true, false}) {
    const auto run = [&](const std::string& body, uint32_t threads) {
      VirtualRun device(checked);
      const DeviceAddress o = device.device->allocate(256, "o");
      return device.run(kernel_of(body, "  .shared .align 16 .b8 tile[1024];\n"), shape_of(1, threads), {o, o, o});
    };
    EXPECT_TRUE(run(mma, 64).ok());
    for (const std::string& each : {mma, matrix}) {
      const Outcome diverged = run("setp.lt.u32 %p1, %r0, 31; @%p1 " + each, 32);
      EXPECT_EQ(diverged.kind, OutcomeKind::memory_fault);
      EXPECT_NE(diverged.message.find("31 of the 32 lanes of the warp take part"), std::string::npos)
          << diverged.message;
      EXPECT_NE(diverged.message.find("PTX line"), std::string::npos);
      EXPECT_FALSE(run(each, 48).ok());
    }
  }
}

// Rows of 16 bytes at scattered places of shared memory, into lanes and back to global memory.
void expect_matrices(int count, bool transposed) {
  const std::string x = "x" + std::to_string(count);
  const std::string body = R"(
  shl.b32 %r1, %r0, 4; mul.wide.u32 %rd4, %r0, 16; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd3, %rd4;
  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd5];
  mov.u32 %r6, tile; add.u32 %r7, %r6, %r1; st.shared.v4.u32 [%r7], {%r2, %r3, %r4, %r5};
  bar.sync 0;
  mad.lo.u32 %r8, %r0, 11, 5; and.b32 %r8, %r8, 31; shl.b32 %r8, %r8, 4; add.u32 %r8, %r8, %r6;
  setp.ge.u32 %p1, %r0, LIVE; @%p1 mov.u32 %r8, 0xffffff00;
  mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u32 %r13, 0;
)";
  std::string text = body + "  ldmatrix.sync.aligned.m8n8." + x + (transposed ? ".trans" : "") + ".shared.b16 {%r10" +
                     (count > 1 ? ", %r11" : "") + (count > 2 ? ", %r12, %r13" : "") +
                     "}, [%r8];\n  st.global.v4.u32 [%rd6], {%r10, %r11, %r12, %r13};";
  text.replace(text.find("LIVE"), 4, std::to_string(8 * count));
  std::vector<uint16_t> numbers(size_t{32} * 8);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint16_t>(i * 257 + 3);
  VirtualRun run;
  const DeviceAddress a = run.upload(numbers, "a", true), o = run.device->allocate(512, "o");
  const Outcome outcome = run.run(kernel_of(text, "  .shared .align 16 .b8 tile[512];\n"), shape_of(1, 32), {a, a, o});
  ASSERT_TRUE(outcome.ok()) << outcome.message;
  const std::vector<uint16_t> got = run.download<uint16_t>(o, size_t{32} * 8);
  for (int lane = 0; lane < 32; ++lane) {
    for (int matrix = 0; matrix < count; ++matrix) {
      for (int i = 0; i < 2; ++i) {
        const int row = transposed ? lane % 4 * 2 + i : lane / 4, column = transposed ? lane / 4 : lane % 4 * 2 + i;
        const int address = ((8 * matrix + row) * 11 + 5) & 31;
        EXPECT_EQ(got[static_cast<size_t>(lane * 8 + matrix * 2 + i)],
                  numbers[static_cast<size_t>(address * 8 + column)])
            << x << " lane " << lane << " matrix " << matrix << " element " << i;
      }
    }
  }
}

// Lanes that give no address hold one that is outside.
TEST(VirtualTensorCore, LoadsMatrices) {
  for (const int count : {1, 2, 4}) {
    for (const bool transposed : {false, true}) expect_matrices(count, transposed);
  }
}

TEST(VirtualTensorCore, RowsOfMatricesAreChecked) {
  const auto run = [](const std::string& body) {
    VirtualRun device;
    const DeviceAddress o = device.device->allocate(256, "o");
    return device.run(kernel_of("shl.b32 %r1, %r0, 4; mov.u32 %r2, tile; add.u32 %r3, %r2, %r1;\n" + body,
                                "  .shared .align 16 .b8 tile[512];\n"),
                      shape_of(1, 32), {o, o, o});
  };
  const auto expect_fault = [](const Outcome& outcome, const std::string& part) {
    EXPECT_EQ(outcome.kind, OutcomeKind::memory_fault);
    EXPECT_NE(outcome.message.find(part), std::string::npos) << outcome.message;
    EXPECT_NE(outcome.message.find("ldmatrix"), std::string::npos) << outcome.message;
  };
  const std::string store = "st.shared.v4.u32 [%r3], {%r0, %r0, %r0, %r0}; ";
  const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r3];";
  EXPECT_TRUE(run(store + "bar.warp.sync -1; " + load).ok());
  // Each lane reads the row that it wrote itself and no other, so nothing else is in the way.
  expect_fault(run(load), "uninitialised read: 16 bytes at offset 0 of shared memory");
  expect_fault(run(store + "xor.b32 %r3, %r3, 16; " + load), "shared memory race");
  expect_fault(run(store + "bar.sync 0; add.u32 %r3, %r3, 8; " + load), "misaligned: 16 bytes at offset 8");
  expect_fault(run(store + "bar.sync 0; add.u32 %r3, %r3, 16; " + load), "out of bounds: 16 bytes at offset 512");
}

TEST(VirtualTensorCore, PacksSaturated) {
  const std::vector<uint32_t> a = hard_numbers(1024, 5), b = hard_numbers(1024, 6);
  for (const auto& [type, bits, least, most] :
       {std::tuple{"s8", 8, -128, 127}, {"u8", 8, 0, 255}, {"s16", 16, -32768, 32767}, {"u16", 16, 0, 65535}}) {
    const std::string text = bits == 8 ? std::string("cvt.pack.sat.") + type + ".s32.b32 %r4, %r2, %r3, 0x8765a1b2;"
                                       : std::string("cvt.pack.sat.") + type + ".s32 %r4, %r2, %r3;";
    const std::string body = R"(
  mov.u32 %r1, %ctaid.x; shl.b32 %r1, %r1, 5; add.u32 %r0, %r0, %r1; mul.wide.u32 %rd4, %r0, 4;
  add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
  ld.global.u32 %r2, [%rd5]; ld.global.u32 %r3, [%rd6];
)" + text + "\n  st.global.u32 [%rd7], %r4;";
    VirtualRun run;
    const DeviceAddress da = run.upload(a, "a"), db = run.upload(b, "b"), o = run.device->allocate(4096, "o");
    const Outcome outcome = run.run(kernel_of(body), shape_of(32, 32), {da, db, o});
    ASSERT_TRUE(outcome.ok()) << outcome.message;
    const std::vector<uint32_t> got = run.download<uint32_t>(o, a.size());
    const auto held = [least = least, most = most](uint32_t value) {
      return static_cast<uint32_t>(std::min(std::max(static_cast<int32_t>(value), least), most));
    };
    for (size_t i = 0; i < a.size(); ++i) {
      const uint32_t expected = bits == 8 ? 0xa1b20000u | (held(a[i]) & 255) << 8 | (held(b[i]) & 255)
                                          : held(a[i]) << 16 | (held(b[i]) & 0xffff);
      ASSERT_EQ(got[i], expected) << text << " of " << a[i] << " and " << b[i];
    }
  }
}

}  // namespace
}  // namespace warpwright
