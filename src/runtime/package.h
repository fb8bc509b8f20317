// Package: everything that runs a network on a card, one (profile of shapes, target) of it at a time.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/core/config.h"
#include "src/core/kernel.h"
#include "src/core/outcome.h"
#include "src/core/program.h"
#include "src/core/target.h"

namespace warpwright {

struct PackageKernel {
  std::string source;
  CompiledKernel code;
  LaunchShape launch;
  std::vector<KernelArgument> arguments;
};

/// What runs one step of the program, and why this.
struct PackageStep {
  size_t kernel = 0;  // index into Package::kernels
  Config config;
  std::string rung;                  // `exact`, `arch`, `near`, `stale`, `default`
  std::optional<Evidence> evidence;  // of the record behind it; none for a default
  std::vector<Tensor> packed;        // in the order of the kernel's arguments; inputs and outputs are empty tensors
};

struct Package {
  Target target;
  Program program;  // with canonical values
  std::vector<PackageKernel> kernels;
  std::vector<PackageStep> steps;  // one a step of the program
  Json manifest;                   // of the whole file
};

/// A package file. Reading checks every size, index and hash; a file that does not hold throws UsageError.
class PackageFile {
 public:
  explicit PackageFile(const std::filesystem::path& path);
  ~PackageFile();

  /// One for each profile of shapes × target.
  struct Variant {
    int64_t id = 0;
    Target target;
    std::map<std::string, Shape> input_shapes;
  };
  const std::vector<Variant>& variants() const { return variants_; }
  const Json& manifest() const { return manifest_; }
  const std::string& digest() const { return digest_; }
  /// Cubin hashes by workload key, over all variants of that target.
  std::map<std::string, std::string> cubin_hashes(const std::string& target_key) const;

  Package load(const Variant& variant) const;
  /// The variant whose target is this card, else one that its architecture can run, else the first.
  const Variant& variant_for(const Target& target) const;

 private:
  struct Reading;
  std::unique_ptr<Reading> reading_;
  std::vector<Variant> variants_;
  Json manifest_;
  std::string digest_;
};

/// True when the file begins as a package does; false for anything else, also for a file that is missing.
bool is_package(const std::filesystem::path& path);

/// Throws UsageError unless indices, forms, lives, arguments and sizes of a package fit together.
void check(const Package& package);

}  // namespace warpwright
