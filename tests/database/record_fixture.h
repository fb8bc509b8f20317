// Records and files for the tests of the database.
#pragma once

#include <filesystem>
#include <string>

#include "database/database.h"

namespace warpwright {

/// The key of the Workload that `make_record` makes of a name.
std::string workload_key(const std::string& name = "a");
std::string workload_json(const std::string& name = "a");
/// Two records are equal if and only if all three are.
Record make_record(int number, double us = 10.0, const std::string& workload = "a");
Record failed_record(int number, OutcomeKind kind);
RunKey make_run_key(uint64_t seed = 1);

/// For tests that damage a database: SQL past the interface.
void execute_sql(const std::filesystem::path& path, const std::string& sql);

}  // namespace warpwright
