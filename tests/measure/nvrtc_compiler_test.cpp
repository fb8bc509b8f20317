// NVRTC: found or refused with a cure, cubin and PTX in one call, resources from the report, errors with their log.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "measure/compiler.h"
#include "measure/nvrtc_library.h"
#include "measure/ptxas_report.h"
#include "src/core/error.h"
#include "src/core/file.h"

namespace warpwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

KernelSource kernel_source(std::string source, std::string entry = "kernel") {
  KernelSource kernel;
  kernel.entry = std::move(entry);
  kernel.source = std::move(source);
  return kernel;
}

Compiler& nvrtc() {
  static const std::unique_ptr<Compiler> compiler = open_nvrtc();
  return *compiler;
}

CompiledKernel must_compile(const KernelSource& source, const std::string& arch) {
  std::variant<CompiledKernel, Outcome> result = nvrtc().compile(source, arch);
  if (const Outcome* outcome = std::get_if<Outcome>(&result)) throw std::runtime_error(outcome->log);
  return std::get<CompiledKernel>(result);
}

template <typename Function>
std::string environment_error(Function function) {
  try {
    function();
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "no EnvironmentError";
}

TEST(Nvrtc, GivesCubinAndPtxForTheExactArchitecture) {
  const CompiledKernel kernel = must_compile(
      kernel_source("extern \"C\" __global__ void kernel(float* x) { x[threadIdx.x] = x[threadIdx.x] * 2.f + 1.f; }"),
      "sm_89");
  EXPECT_EQ(kernel.cubin.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_THAT(kernel.ptx, AllOf(HasSubstr(".target sm_89"), HasSubstr(".entry kernel"), Not(HasSubstr("fma"))));
  EXPECT_EQ(kernel.arch, "sm_89");
  EXPECT_GT(kernel.registers, 0);
  EXPECT_EQ(kernel.spill_store_bytes, 0);
  EXPECT_THAT(kernel.compiler, HasSubstr("NVRTC 1"));
}

TEST(Nvrtc, CountsSharedMemoryAndSpills) {
  const CompiledKernel kernel = must_compile(kernel_source(R"(
      extern "C" __global__ void __launch_bounds__(1024) kernel(int* x, int n) {
        __shared__ int tile[100];
        int v[80];
        #pragma unroll
        for (int i = 0; i < 80; ++i) v[i] = x[i * n + threadIdx.x];
        tile[threadIdx.x % 100] = v[0];
        __syncthreads();
        int sum = tile[(n + 1) % 100];
        #pragma unroll
        for (int i = 0; i < 80; ++i)
          #pragma unroll
          for (int j = 0; j < 4; ++j) sum += v[i] * v[(i * 7 + j * 20) % 80] ^ sum;
        x[threadIdx.x] = sum;
      })"),
                                             "sm_80");
  EXPECT_EQ(kernel.static_smem_bytes, 400);
  EXPECT_LE(kernel.registers, 64);
  EXPECT_GT(kernel.spill_store_bytes, 0);
  EXPECT_GT(kernel.spill_load_bytes, 0);
  EXPECT_GE(kernel.local_bytes, kernel.spill_store_bytes / 2);
}

TEST(Nvrtc, EqualSourceGivesEqualBytes) {
  const KernelSource source = kernel_source("extern \"C\" __global__ void kernel(int* x) { x[threadIdx.x] += 1; }");
  const CompiledKernel first = must_compile(source, "sm_86"), second = must_compile(source, "sm_86");
  EXPECT_EQ(first.ptx, second.ptx);
  EXPECT_EQ(first.cubin, second.cubin);
}

TEST(Nvrtc, BadSourceIsACompileErrorWithItsLog) {
  const auto result = nvrtc().compile(kernel_source("extern \"C\" __global__ void kernel() { nonsense; }"), "sm_89");
  const Outcome& outcome = std::get<Outcome>(result);
  EXPECT_EQ(outcome.kind, OutcomeKind::compile_error);
  EXPECT_THAT(outcome.message, AllOf(HasSubstr("nonsense"), HasSubstr("kernel.cu(1)")));
  EXPECT_THAT(outcome.log, HasSubstr("nonsense"));
}

TEST(Nvrtc, TooMuchSharedMemoryIsACompileError) {
  const auto result = nvrtc().compile(
      kernel_source(
          "extern \"C\" __global__ void kernel(int* x) { __shared__ int t[99999]; t[x[0]] = 1; x[1] = t[x[2]]; }"),
      "sm_89");
  EXPECT_EQ(std::get<Outcome>(result).kind, OutcomeKind::compile_error);
  EXPECT_THAT(std::get<Outcome>(result).message, HasSubstr("too much shared data"));
}

TEST(Nvrtc, MissingEntryIsACompileError) {
  const auto result = nvrtc().compile(kernel_source("extern \"C\" __global__ void other(int* x) { *x = 1; }"), "sm_89");
  EXPECT_THAT(std::get<Outcome>(result).message, HasSubstr("'kernel'"));
}

TEST(Nvrtc, UnknownArchitectureNamesVersionsAndIsNotTheSourcesFault) {
  const std::string message =
      environment_error([] { nvrtc().compile(kernel_source("extern \"C\" __global__ void kernel() {}"), "sm_12"); });
  EXPECT_THAT(message, AllOf(HasSubstr("NVRTC 1"), HasSubstr("sm_12;"), HasSubstr("sm_89"), HasSubstr("--nvrtc")));
}

TEST(Nvrtc, MissingLibrarySaysWhatWasTriedAndTheCure) {
  const std::string message = environment_error([] { open_nvrtc("/nowhere/libnvrtc.so.13"); });
  EXPECT_THAT(message, AllOf(HasSubstr("/nowhere/libnvrtc.so.13"), HasSubstr("nvidia-cuda-nvrtc"),
                             HasSubstr("$WARPWRIGHT_NVRTC")));
}

TEST(Nvrtc, EmptyFolderAndForeignLibraryAreRefused) {
  const TemporaryFolder folder;
  EXPECT_THAT(environment_error([&] { open_nvrtc(folder.path().string()); }), HasSubstr(folder.path().string()));
  EXPECT_THAT(environment_error([] { open_nvrtc("libm.so.6"); }), HasSubstr("nvrtcVersion"));
  std::ofstream(folder.path() / "libnvrtc.so.13") << "not a library";
  EXPECT_THAT(environment_error([&] { open_nvrtc(folder.path().string()); }), HasSubstr("libnvrtc.so.13"));
}

TEST(Nvrtc, BuiltInsBesideTheLibraryAreFoundWithoutASearchPath) {
  const NvrtcLibrary library = load_nvrtc("");
  const std::string name =
      "libnvrtc-builtins.so." + std::to_string(library.major) + "." + std::to_string(library.minor);
  if (!std::filesystem::exists(std::filesystem::path(library.path).parent_path() / name)) {
    GTEST_SKIP() << "no " << name << " beside " << library.path;
  }
  EXPECT_NE(dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(Nvrtc, EnvironmentVariableIsTheOnlyPlace) {
  ASSERT_EQ(setenv("WARPWRIGHT_NVRTC", "/nowhere/else.so", 1), 0);
  const std::vector<std::string> candidates = nvrtc_candidates("");
  ASSERT_EQ(unsetenv("WARPWRIGHT_NVRTC"), 0);
  EXPECT_EQ(candidates, std::vector<std::string>{"/nowhere/else.so"});
  EXPECT_GT(nvrtc_candidates("").size(), 2u);
}

constexpr const char* kReport = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'b' for 'sm_89'
ptxas info    : Function properties for helper
ptxas         .     16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Function properties for b
ptxas         .     528 bytes stack frame, 208 bytes spill stores, 212 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 528 bytes cumulative stack size, 400 bytes smem, 364 bytes cmem[0]
ptxas info    : Compiling entry function 'a' for 'sm_89'
ptxas info    : Function properties for a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, 360 bytes cmem[0])";

TEST(PtxasReport, ReadsEachEntryAndNotItsNeighbours) {
  const auto b = read_ptxas_report(kReport, "b");
  ASSERT_TRUE(b);
  EXPECT_EQ(b->registers, 64);
  EXPECT_EQ(b->static_smem_bytes, 400);
  EXPECT_EQ(b->local_bytes, 528);
  EXPECT_EQ(b->spill_store_bytes, 208);
  EXPECT_EQ(b->spill_load_bytes, 212);
  const auto a = read_ptxas_report(kReport, "a");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->registers, 8);
  EXPECT_EQ(a->static_smem_bytes, 0);
}

TEST(PtxasReport, IsAbsentWhenALineIs) {
  EXPECT_FALSE(read_ptxas_report(kReport, "c"));
  EXPECT_FALSE(read_ptxas_report("", "a"));
  const std::string text = kReport;
  EXPECT_FALSE(read_ptxas_report(text.substr(0, text.rfind('\n')), "a"));
  EXPECT_FALSE(read_ptxas_report("ptxas info : Compiling entry function 'a' for 'sm_89'\nUsed x registers", "a"));
}

}  // namespace
}  // namespace warpwright
