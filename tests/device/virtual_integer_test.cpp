// Integer arithmetic of the virtual device against computations of the host that share no code with it.
#include <functional>

#include "tests/device/virtual_harness.h"

namespace warpwright {
namespace {

using testing::hard_numbers;
using testing::kernel_of;
using testing::shape_of;
using testing::VirtualRun;

constexpr uint32_t kThreads = 1000;  // the last warp has 8 lanes

using Of3 = std::function<uint32_t(uint32_t, uint32_t, uint32_t)>;

// o[i] = INSTRUCTION of %r1 = a[3i], %r2 = a[3i+1], %r3 = a[3i+2] into %r10.
void expect_equal(const std::string& instruction, const Of3& expected) {
  SCOPED_TRACE(instruction);
  const std::string body = R"(
  mul.wide.u32 %rd4, %r0, 12;
  add.s64 %rd5, %rd1, %rd4;
  ld.global.u32 %r1, [%rd5];
  ld.global.u32 %r2, [%rd5+4];
  ld.global.u32 %r3, [%rd5+8];
  cvt.u64.u32 %rd20, %r1; cvt.u64.u32 %rd21, %r2; shl.b64 %rd22, %rd21, 32; or.b64 %rd10, %rd20, %rd22;
  cvt.s64.s32 %rd11, %r3;
  cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; cvt.u16.u32 %h3, %r3;
  setp.ne.u32 %p9, %r3, 0;
  mov.u32 %r10, 0;
  )" + instruction + R"(
  mul.wide.u32 %rd6, %r0, 4;
  add.s64 %rd7, %rd3, %rd6;
  st.global.u32 [%rd7], %r10;
)";
  VirtualRun run;
  const std::vector<uint32_t> values = hard_numbers(3 * kThreads, 7);
  const DeviceAddress a = run.upload(values, "a", true), o = run.device->allocate(4 * kThreads, "o");
  const Outcome outcome = run.run(kernel_of(body), shape_of(1, kThreads), {a, a, o});
  ASSERT_TRUE(outcome.ok()) << outcome.message;
  const std::vector<uint32_t> got = run.download<uint32_t>(o, kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    const uint32_t x = values[3 * i], y = values[3 * i + 1], z = values[3 * i + 2];
    ASSERT_EQ(got[i], expected(x, y, z)) << std::hex << x << " " << y << " " << z;
  }
}

int64_t s(uint32_t value) { return static_cast<int32_t>(value); }
uint64_t pair(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }
uint32_t high_of(int64_t value) { return static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32); }
uint32_t low_of(int64_t value) { return static_cast<uint32_t>(value); }

TEST(VirtualInteger, SumsAndProducts) {
  expect_equal("add.s32 %r10, %r1, %r2;", [](auto x, auto y, auto) { return x + y; });
  expect_equal("sub.u32 %r10, %r1, -5;", [](auto x, auto, auto) { return x + 5; });
  expect_equal("add.sat.s32 %r10, %r1, %r2;",
               [](auto x, auto y, auto) { return low_of(std::clamp<int64_t>(s(x) + s(y), INT32_MIN, INT32_MAX)); });
  expect_equal("mul.lo.s32 %r10, %r1, %r2;", [](auto x, auto y, auto) { return x * y; });
  expect_equal("mul.hi.s32 %r10, %r1, %r2;", [](auto x, auto y, auto) { return high_of(s(x) * s(y)); });
  expect_equal("mul.hi.u32 %r10, %r1, %r2;",
               [](auto x, auto y, auto) { return static_cast<uint32_t>(uint64_t{x} * y >> 32); });
  expect_equal("mad.lo.s32 %r10, %r1, %r2, %r3;", [](auto x, auto y, auto z) { return x * y + z; });
  expect_equal("mad.hi.s32 %r10, %r1, %r2, %r3;", [](auto x, auto y, auto z) { return high_of(s(x) * s(y)) + z; });
  expect_equal("mad.hi.u32 %r10, %r1, %r2, %r3;",
               [](auto x, auto y, auto z) { return static_cast<uint32_t>(uint64_t{x} * y >> 32) + z; });
  expect_equal("mad.wide.s32 %rd12, %r1, %r2, %rd11; shr.u64 %rd13, %rd12, 32; cvt.u32.u64 %r10, %rd13;",
               [](auto x, auto y, auto z) { return high_of(s(x) * s(y) + s(z)); });
  expect_equal("mul.wide.u32 %rd12, %r1, %r2; shr.u64 %rd13, %rd12, 32; cvt.u32.u64 %r10, %rd13;",
               [](auto x, auto y, auto) { return static_cast<uint32_t>(uint64_t{x} * y >> 32); });
  expect_equal("mul.wide.s16 %r10, %h1, %h2;",
               [](auto x, auto y, auto) { return low_of(int64_t{static_cast<int16_t>(x)} * static_cast<int16_t>(y)); });
  expect_equal("mul.lo.s16 %h4, %h1, %h2; cvt.s32.s16 %r10, %h4;",
               [](auto x, auto y, auto) { return low_of(static_cast<int16_t>(x * y)); });
  expect_equal("mul.hi.u64 %rd12, %rd10, %rd11; cvt.u32.u64 %r10, %rd12;", [](auto x, auto y, auto z) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint32_t>(Wide{pair(x, y)} * static_cast<uint64_t>(s(z)) >> 64);
  });
  expect_equal("sad.s32 %r10, %r1, %r2, %r3;",
               [](auto x, auto y, auto z) { return low_of(std::abs(s(x) - s(y))) + z; });
}

TEST(VirtualInteger, Carries) {
  expect_equal("add.cc.u32 %r4, %r1, %r2; addc.u32 %r10, %r3, 0;",
               [](auto x, auto y, auto z) { return z + static_cast<uint32_t>((uint64_t{x} + y) >> 32); });
  expect_equal("sub.cc.u32 %r4, %r1, %r2; subc.u32 %r10, %r3, 0;",
               [](auto x, auto y, auto z) { return z - (x < y ? 1u : 0u); });
  expect_equal("mad.lo.cc.u32 %r4, %r1, %r2, %r3; madc.hi.u32 %r10, %r1, %r2, 0;",
               [](auto x, auto y, auto z) { return static_cast<uint32_t>((uint64_t{x} * y + z) >> 32); });
}

TEST(VirtualInteger, QuotientsAndRemainders) {
  const auto nonzero = [](uint32_t y) { return y == 0 ? 3u : y; };
  const std::string guard = "setp.eq.u32 %p1, %r2, 0; selp.b32 %r2, 3, %r2, %p1; ";
  expect_equal(guard + "div.u32 %r10, %r1, %r2;", [=](auto x, auto y, auto) { return x / nonzero(y); });
  expect_equal(guard + "rem.u32 %r10, %r1, %r2;", [=](auto x, auto y, auto) { return x % nonzero(y); });
  expect_equal(guard + "div.s32 %r10, %r1, %r2;", [=](auto x, auto y, auto) { return low_of(s(x) / s(nonzero(y))); });
  expect_equal(guard + "rem.s32 %r10, %r1, %r2;", [=](auto x, auto y, auto) { return low_of(s(x) % s(nonzero(y))); });
}

TEST(VirtualInteger, Order) {
  expect_equal("min.s32 %r10, %r1, %r2;", [](auto x, auto y, auto) { return low_of(std::min(s(x), s(y))); });
  expect_equal("max.u32 %r10, %r1, %r2;", [](auto x, auto y, auto) { return std::max(x, y); });
  expect_equal("abs.s32 %r10, %r1;", [](auto x, auto, auto) { return low_of(std::abs(s(x))); });
  expect_equal("neg.s32 %r10, %r1;", [](auto x, auto, auto) { return 0u - x; });
  expect_equal("setp.lt.s32 %p1, %r1, %r2; selp.u32 %r10, %r3, 9, %p1;",
               [](auto x, auto y, auto z) { return s(x) < s(y) ? z : 9u; });
  expect_equal(
      "setp.hs.u32 %p1|%p2, %r1, %r2; selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 2, 0, %p2; or.b32 %r10, %r4, %r5;",
      [](auto x, auto y, auto) { return x >= y ? 1u : 2u; });
  expect_equal("setp.gt.and.s16 %p1, %h1, %h2, %p9; selp.u32 %r10, 1, 0, %p1;", [](auto x, auto y, auto z) {
    return static_cast<int16_t>(x) > static_cast<int16_t>(y) && z != 0 ? 1u : 0u;
  });
  expect_equal("setp.ne.xor.b32 %p1, %r1, %r2, !%p9; not.pred %p2, %p1; selp.u32 %r10, 1, 0, %p2;",
               [](auto x, auto y, auto z) { return (x != y) != (z == 0) ? 0u : 1u; });
  expect_equal("set.le.u32.s32 %r10, %r1, %r2;", [](auto x, auto y, auto) { return s(x) <= s(y) ? ~0u : 0u; });
  expect_equal("setp.lt.s64 %p1, %rd10, %rd11; selp.u32 %r10, 1, 0, %p1;",
               [](auto x, auto y, auto z) { return static_cast<int64_t>(pair(x, y)) < s(z) ? 1u : 0u; });
}

TEST(VirtualInteger, ShiftsAndFunnels) {
  expect_equal("shl.b32 %r10, %r1, %r2;", [](auto x, auto y, auto) { return y > 31 ? 0 : x << y; });
  expect_equal("shr.u32 %r10, %r1, %r2;", [](auto x, auto y, auto) { return y > 31 ? 0 : x >> y; });
  expect_equal("shr.s32 %r10, %r1, %r2;", [](auto x, auto y, auto) { return low_of(s(x) >> std::min(y, 31u)); });
  expect_equal("shr.s16 %h4, %h1, %r2; cvt.s32.s16 %r10, %h4;",
               [](auto x, auto y, auto) { return low_of(static_cast<int16_t>(x) >> std::min(y, 15u)); });
  expect_equal("shr.s64 %rd12, %rd10, %r3; cvt.u32.u64 %r10, %rd12;",
               [](auto x, auto y, auto z) { return low_of(static_cast<int64_t>(pair(x, y)) >> std::min(z, 63u)); });
  expect_equal("shf.l.wrap.b32 %r10, %r1, %r2, %r3;",
               [](auto x, auto y, auto z) { return high_of(static_cast<int64_t>(pair(x, y) << (z & 31))); });
  expect_equal("shf.r.wrap.b32 %r10, %r1, %r2, %r3;",
               [](auto x, auto y, auto z) { return static_cast<uint32_t>(pair(x, y) >> (z & 31)); });
  expect_equal("shf.l.clamp.b32 %r10, %r1, %r2, %r3;",
               [](auto x, auto y, auto z) { return z >= 32 ? x : high_of(static_cast<int64_t>(pair(x, y) << z)); });
  expect_equal("shf.r.clamp.b32 %r10, %r1, %r2, %r3;",
               [](auto x, auto y, auto z) { return z >= 32 ? y : static_cast<uint32_t>(pair(x, y) >> z); });
}

// Bit by bit, as the manual writes it.
uint64_t extract(uint64_t a, uint32_t b, uint32_t c, int bits, bool is_signed) {
  const uint32_t pos = b & 255, len = c & 255, top = static_cast<uint32_t>(bits - 1);
  const bool sign = is_signed && len != 0 && (a >> std::min(pos + len - 1, top) & 1) != 0;
  uint64_t out = 0;
  for (uint32_t i = 0; i <= top; ++i) {
    const bool bit = i < len && pos + i <= top ? (a >> (pos + i) & 1) != 0 : sign;
    out |= uint64_t{bit} << i;
  }
  return out;
}

uint32_t insert(uint32_t field, uint32_t into, uint32_t b, uint32_t c) {
  const uint32_t pos = b & 255, len = c & 255;
  for (uint32_t i = 0; i < len && pos + i <= 31; ++i) {
    into = (into & ~(1u << (pos + i))) | (field >> i & 1) << (pos + i);
  }
  return into;
}

TEST(VirtualInteger, Fields) {
  for (const char* position : {"0", "3", "31", "40", "%r3"}) {
    for (const char* length : {"0", "1", "8", "32", "70", "%r2"}) {
      const auto value = [](const std::string& text, uint32_t reg) {
        return text[0] == '%' ? reg : static_cast<uint32_t>(std::stoul(text));
      };
      const std::string operands = std::string(", ") + position + ", " + length + ";";
      const std::string p = position, l = length;
      expect_equal("bfe.u32 %r10, %r1" + operands, [=](auto x, auto y, auto z) {
        return static_cast<uint32_t>(extract(x, value(p, z), value(l, y), 32, false));
      });
      expect_equal("bfe.s32 %r10, %r1" + operands, [=](auto x, auto y, auto z) {
        return static_cast<uint32_t>(extract(x, value(p, z), value(l, y), 32, true));
      });
      expect_equal("bfe.s64 %rd12, %rd10" + operands + " cvt.u32.u64 %r10, %rd12;", [=](auto x, auto y, auto z) {
        return static_cast<uint32_t>(extract(pair(x, y), value(p, z), value(l, y), 64, true));
      });
      expect_equal("bfi.b32 %r10, %r1, 0x5a5a5a5a" + operands,
                   [=](auto x, auto y, auto z) { return insert(x, 0x5a5a5a5a, value(p, z), value(l, y)); });
    }
  }
}

TEST(VirtualInteger, BitCounts) {
  expect_equal("popc.b32 %r10, %r1;", [](auto x, auto, auto) { return static_cast<uint32_t>(std::popcount(x)); });
  expect_equal("clz.b32 %r10, %r1;", [](auto x, auto, auto) { return static_cast<uint32_t>(std::countl_zero(x)); });
  expect_equal("clz.b64 %r10, %rd10;",
               [](auto x, auto y, auto) { return static_cast<uint32_t>(std::countl_zero(pair(x, y))); });
  expect_equal("bfind.s32 %r10, %r1;", [](auto x, auto, auto) {
    const uint32_t seen = s(x) < 0 ? ~x : x;
    return seen == 0 ? ~0u : 31u - static_cast<uint32_t>(std::countl_zero(seen));
  });
  expect_equal("brev.b32 %r10, %r1;", [](auto x, auto, auto) {
    uint32_t out = 0;
    for (int i = 0; i < 32; ++i) out |= (x >> i & 1) << (31 - i);
    return out;
  });
}

TEST(VirtualInteger, Lop3HasEveryTable) {
  for (const uint32_t table : {0u, 0x80u, 0xfeu, 0x96u, 0xcau, 0xe8u, 0x1u, 0xffu, 0x78u, 0x1bu}) {
    expect_equal("lop3.b32 %r10, %r1, %r2, %r3, " + std::to_string(table) + ";", [=](auto x, auto y, auto z) {
      uint32_t out = 0;
      for (int i = 0; i < 32; ++i) {
        out |= (table >> ((x >> i & 1) * 4 + (y >> i & 1) * 2 + (z >> i & 1)) & 1) << i;
      }
      return out;
    });
  }
}

std::array<uint32_t, 8> bytes_of(uint32_t a, uint32_t b) {
  std::array<uint32_t, 8> out{};
  for (size_t i = 0; i < 8; ++i) out[i] = (i < 4 ? a >> (8 * i) : b >> (8 * (i - 4))) & 255;
  return out;
}

TEST(VirtualInteger, PrmtModes) {
  expect_equal("prmt.b32 %r10, %r1, %r2, %r3;", [](auto x, auto y, auto z) {
    uint32_t out = 0;
    for (int i = 0; i < 4; ++i) {
      const uint32_t selector = z >> (4 * i) & 15, byte = bytes_of(x, y)[selector & 7];
      out |= (selector < 8 ? byte : byte >= 128 ? 255u : 0u) << (8 * i);
    }
    return out;
  });
  // Bytes that each mode takes, most significant first, for control 0 to 3: the table of the manual.
  const std::pair<const char*, std::array<const char*, 4>> modes[] = {
      {"f4e", {"3210", "4321", "5432", "6543"}}, {"b4e", {"5670", "6701", "7012", "0123"}},
      {"rc8", {"0000", "1111", "2222", "3333"}}, {"ecl", {"3210", "3211", "3222", "3333"}},
      {"ecr", {"0000", "1110", "2210", "3210"}}, {"rc16", {"1010", "3232", "1010", "3232"}},
  };
  for (const auto& [mode, table] : modes) {
    expect_equal(std::string("prmt.b32.") + mode + " %r10, %r1, %r2, %r3;", [&](auto x, auto y, auto z) {
      uint32_t out = 0;
      for (size_t i = 0; i < 4; ++i) {
        out |= bytes_of(x, y)[static_cast<size_t>(table[z & 3][3 - i] - '0')] << (8 * i);
      }
      return out;
    });
  }
}

TEST(VirtualInteger, DotProductsOfAllSigns) {
  for (const bool a_signed : {false, true}) {
    for (const bool b_signed : {false, true}) {
      const std::string types = std::string(a_signed ? ".s32" : ".u32") + (b_signed ? ".s32" : ".u32");
      const auto byte = [](uint32_t value, int i, bool is_signed) -> int64_t {
        const auto bits = static_cast<uint8_t>(value >> (8 * i));
        return is_signed ? static_cast<int8_t>(bits) : bits;
      };
      const auto half = [](uint32_t value, int i, bool is_signed) -> int64_t {
        const auto bits = static_cast<uint16_t>(value >> (16 * i));
        return is_signed ? static_cast<int16_t>(bits) : bits;
      };
      expect_equal("dp4a" + types + " %r10, %r1, %r2, %r3;", [=](auto x, auto y, auto z) {
        int64_t sum = s(z);
        for (int i = 0; i < 4; ++i) sum += byte(x, i, a_signed) * byte(y, i, b_signed);
        return low_of(sum);
      });
      expect_equal("dp2a.hi" + types + " %r10, %r1, %r2, %r3;", [=](auto x, auto y, auto z) {
        return low_of(s(z) + half(x, 0, a_signed) * byte(y, 2, b_signed) + half(x, 1, a_signed) * byte(y, 3, b_signed));
      });
      expect_equal("dp2a.lo" + types + " %r10, %r1, %r2, %r3;", [=](auto x, auto y, auto z) {
        return low_of(s(z) + half(x, 0, a_signed) * byte(y, 0, b_signed) + half(x, 1, a_signed) * byte(y, 1, b_signed));
      });
    }
  }
}

TEST(VirtualInteger, PacksAndConversions) {
  expect_equal("mov.b64 %rd12, {%r1, %r2}; mov.b64 {%r4, %r10}, %rd12;", [](auto, auto y, auto) { return y; });
  expect_equal("mov.b32 %r10, {%h1, %h2};", [](auto x, auto y, auto) { return (x & 0xffff) | y << 16; });
  expect_equal("mov.b32 {%h4, %h5}, %r1; cvt.u32.u16 %r10, %h5;", [](auto x, auto, auto) { return x >> 16; });
  expect_equal("cvt.s8.s32 %r10, %r1;", [](auto x, auto, auto) { return low_of(static_cast<int8_t>(x)); });
  expect_equal("cvt.u8.u32 %r10, %r1;", [](auto x, auto, auto) { return x & 255; });
  expect_equal("cvt.sat.s8.s32 %r10, %r1;",
               [](auto x, auto, auto) { return low_of(std::clamp<int64_t>(s(x), -128, 127)); });
  expect_equal("cvt.sat.u8.s32 %r10, %r1;",
               [](auto x, auto, auto) { return low_of(std::clamp<int64_t>(s(x), 0, 255)); });
  expect_equal("cvt.sat.s16.u32 %r10, %r1;", [](auto x, auto, auto) { return std::min(x, 32767u); });
  expect_equal("cvt.sat.s32.s64 %r10, %rd10;", [](auto x, auto y, auto) {
    return low_of(std::clamp<int64_t>(static_cast<int64_t>(pair(x, y)), INT32_MIN, INT32_MAX));
  });
}

}  // namespace
}  // namespace warpwright
