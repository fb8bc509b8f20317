// The CUDA text of the float32 functions on the virtual device, bit for bit against the reference.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "measure/compiler.h"
#include "search_space/real_functions_text.h"
#include "src/reference/real_functions.h"
#include "tests/device/virtual_harness.h"

namespace warpwright {
namespace {

constexpr uint32_t kCtas = 64, kThreads = 256;
constexpr size_t kCount = size_t{kCtas} * kThreads;
constexpr size_t kFunctions = 11;

constexpr const char* kKernel = R"(
extern "C" __global__ void k(const float* a, const float* b, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, count = gridDim.x * blockDim.x;
  const float x = a[i], y = b[i];
  out[i] = real_exp(x);
  out[count + i] = real_log(x);
  out[2 * count + i] = real_error_function(x);
  out[3 * count + i] = real_tanh(x);
  out[4 * count + i] = real_sine(x);
  out[5 * count + i] = real_cosine(x);
  out[6 * count + i] = real_power(x, y);
  out[7 * count + i] = real_remainder(x, y);
  out[8 * count + i] = real_maximum(x, y);
  out[9 * count + i] = real_minimum(x, y);
  out[10 * count + i] = real_sign(x);
}
)";

/// Bits of all kinds of floats: any, around the functions' bounds, small integers and halves, powers that are finite.
std::vector<float> numbers(uint32_t seed) {
  constexpr float kSpecial[] = {0.0F,      -0.0F,      1.0F,       -1.0F,      2.0F,       0.5F,       -0.5F,
                                INFINITY,  -INFINITY,  NAN,        1e-45F,     -1e-45F,    1.2e-38F,   3.4e38F,
                                -3.4e38F,  88.7228F,   -103.9721F, -87.33654F, 0.875F,     0.6249999F, 0.625F,
                                0.785398F, 0.7853982F, 1.5707964F, 0x1p-12F,   16777216.F, 8388609.F,  3.0F,
                                -3.0F,     160.0F,     0.6666667F, 1.3333334F};
  std::mt19937 random(seed);
  std::vector<float> out(kCount);
  for (float& value : out) {
    const auto bits = static_cast<uint32_t>(random());
    const auto pick = static_cast<uint32_t>(random() % 8);
    value = std::bit_cast<float>(bits);
    if (pick == 0) value = kSpecial[bits % std::size(kSpecial)];
    if (pick == 1) value = static_cast<float>(static_cast<int32_t>(bits % 81) - 40) * 0.5F;
    if (pick >= 2 && pick < 6)
      value = std::ldexp(static_cast<float>(static_cast<int32_t>(bits)), -(20 + 2 * static_cast<int>(pick)));
    if (pick == 6) value = std::nextafter(kSpecial[bits % std::size(kSpecial)], 1.0F);
  }
  return out;
}

std::vector<float> expected(size_t function, const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> out(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const float x = a[i], y = b[i];
    const float sign = x > 0 ? 1.0F : x < 0 ? -1.0F : x == 0 ? 0.0F : x;
    const float values[kFunctions] = {real::exp(x),
                                      real::log(x),
                                      real::error_function(x),
                                      real::tanh(x),
                                      real::sine(x),
                                      real::cosine(x),
                                      real::power(x, y),
                                      real::remainder(x, y),
                                      real::maximum(x, y),
                                      real::minimum(x, y),
                                      sign};
    out[i] = values[function];
  }
  return out;
}

TEST(RealFunctionsText, GivesTheBitsOfTheReference) {
  KernelSource source;
  source.entry = "k";
  source.source = real_functions_text() + kKernel;
  const auto compiled = open_nvrtc()->compile(source, "sm_89");
  const auto* failure = std::get_if<Outcome>(&compiled);
  ASSERT_EQ(failure, nullptr) << failure->log;
  const auto& kernel = std::get<CompiledKernel>(compiled);
  for (const char* banned : {".approx", ".ftz", ".f64"}) {
    EXPECT_EQ(kernel.ptx.find(banned), std::string::npos) << banned;
  }
  const std::vector<float> a = numbers(1), b = numbers(2);
  testing::VirtualRun run;
  const DeviceAddress out = run.device->allocate(static_cast<int64_t>(kFunctions * kCount * sizeof(float)), "out");
  Launch launch;
  launch.kernel = run.device->load(kernel);
  launch.shape = testing::shape_of(kCtas, kThreads);
  launch.arguments = {bind_address(run.upload(a, "a", true)), bind_address(run.upload(b, "b", true)),
                      bind_address(out)};
  const Outcome outcome = run.device->launch(launch);
  ASSERT_EQ(outcome.kind, OutcomeKind::ok) << outcome.message;
  const auto got = run.download<float>(out, kFunctions * kCount);
  for (size_t function = 0; function < kFunctions; ++function) {
    const std::vector<float> wanted = expected(function, a, b);
    size_t wrong = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const float ours = got[function * kCount + i];
      const bool equal = std::bit_cast<uint32_t>(ours) == std::bit_cast<uint32_t>(wanted[i]);
      if (equal || (std::isnan(ours) && std::isnan(wanted[i]))) continue;
      if (wrong++ == 0) {
        ADD_FAILURE() << "function " << function << " of " << a[i] << ", " << b[i] << ": " << ours << " instead of "
                      << wanted[i];
      }
    }
    EXPECT_EQ(wrong, 0U) << "function " << function;
  }
}

}  // namespace
}  // namespace warpwright
