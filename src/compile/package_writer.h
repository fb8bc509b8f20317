// From a Plan to a Package in memory, and from Packages to a file.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "src/compile/plan.h"
#include "src/runtime/package.h"

namespace warpwright {

/// Packs the constants of every step for its kernel. The plan must be compiled.
Package make_package(const Program& program, const Plan& plan);

/// The manifest of a build: for each kernel its Config, rung, evidence, record, trials, hashes and `code_statement`. No
/// times of day and no names of hosts or paths.
Json manifest_of(const Plan& plan, const std::string& model_digest);

/// One file for all (profile, target) pairs given; weights and code are stored once. Equal packages give equal bytes.
/// Written under a temporary name and renamed. Throws EnvironmentError when the file cannot be written.
void write_package(const std::filesystem::path& path, std::span<const Package> packages, const Json& manifest);

}  // namespace warpwright
