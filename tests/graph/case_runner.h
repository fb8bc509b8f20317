// Runs recorded cases (a folder with index.json) through import, lowering and the reference executor.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "src/core/json.h"
#include "src/graph/executor.h"
#include "src/import/import.h"

namespace warpwright {

enum class CaseResult { held, refused, wrong };

struct CaseOutcome {
  CaseResult result = CaseResult::wrong;
  std::string message;  // of the refusal, or what is wrong
};

/// The folder of recorded material beside the checkout: $WARPWRIGHT_SHARED or ../shared. Nothing when there is none.
std::optional<std::filesystem::path> shared_folder();
/// Cases that ship with the tests.
std::filesystem::path test_data_folder();

/// `item` is the case's line of index.json; `folder` holds the cases.
CaseOutcome run_case(const std::filesystem::path& folder, const Json& item);

/// Empty when they are the same bit for bit, else what differs first.
std::string difference(const Tensor& got, const Tensor& wanted);

}  // namespace warpwright
