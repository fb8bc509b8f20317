// Oracle: a cache of cases in memory, and of expected outputs in files that are checked before they are believed.
#include "src/reference/oracle.h"

#include <fmt/core.h>

#include <cstring>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "src/core/log.h"

namespace warpwright {

namespace {

constexpr size_t kHashLength = 64;

std::string_view text_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

/// Hash of the whole case, so that a file belongs to its Workload, inputs and values and to no other.
std::string case_hash(const Workload& workload, const Example& example, std::string_view expected) {
  std::string digest = to_json(workload).dump();
  for (const Tensor& input : example.inputs) digest += sha256_hex(text_of(input));
  for (const auto& [name, value] : example.values) digest += name + sha256_hex(text_of(value));
  return sha256_hex(digest + sha256_hex(expected));
}

/// The payload of a file, or nullopt when it is missing, damaged or of another case.
std::optional<Tensor> read_expected(const std::filesystem::path& path, const Workload& workload,
                                    const Example& example) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  Tensor expected(workload.output.dtype, {workload.output.buffer_elements()});
  const size_t size = kHashLength + expected.bytes.size();
  std::string bytes;
  try {
    bytes = read_file(path, static_cast<int64_t>(size));
  } catch (const UsageError&) {  // gone, unreadable or too long: computed again
  }
  if (bytes.size() != size ||
      bytes.compare(0, kHashLength, case_hash(workload, example, std::string_view(bytes).substr(kHashLength))) != 0) {
    log_warning("expected output {} is damaged and is computed again", path.string());
    return std::nullopt;
  }
  std::memcpy(expected.bytes.data(), bytes.data() + kHashLength, expected.bytes.size());
  return expected;
}

}  // namespace

int64_t OracleCase::bytes() const {
  size_t sum = expected.bytes.size();
  for (const Tensor& input : example.inputs) sum += input.bytes.size();
  for (const auto& [name, value] : example.values) sum += value.bytes.size();
  return static_cast<int64_t>(sum);
}

Oracle::Oracle(int64_t limit_bytes, std::optional<std::filesystem::path> folder)
    : limit_bytes_(limit_bytes), folder_(std::move(folder)) {
  if (folder_ && !std::filesystem::is_directory(*folder_)) {
    throw EnvironmentError(fmt::format("folder for expected outputs {} does not exist", folder_->string()));
  }
}

std::shared_ptr<const OracleCase> Oracle::get(const Workload& workload, uint64_t seed) {
  const Identity identity{key(workload), seed};
  {
    const std::lock_guard lock(mutex_);
    if (auto found = kept_.find(identity); found != kept_.end()) {
      uses_.splice(uses_.begin(), uses_, found->second.use);
      return found->second.oracle_case;
    }
  }
  auto oracle_case = std::make_shared<OracleCase>();
  oracle_case->example = make_example(workload, seed);
  oracle_case->expected = expected_output(workload, seed, oracle_case->example);
  keep(identity, oracle_case);
  return oracle_case;
}

int64_t Oracle::computed_count() const {
  const std::lock_guard lock(mutex_);
  return computed_count_;
}

Tensor Oracle::expected_output(const Workload& workload, uint64_t seed, const Example& example) {
  std::filesystem::path path;
  if (folder_) {
    path = *folder_ / fmt::format("{}-{}.expected", key(workload), seed);
    if (auto expected = read_expected(path, workload, example)) return *std::move(expected);
  }
  std::vector<const Tensor*> inputs;
  for (const Tensor& input : example.inputs) inputs.push_back(&input);
  Tensor expected = run_reference(workload, example.values, inputs);
  {
    const std::lock_guard lock(mutex_);
    ++computed_count_;
  }
  if (folder_) {
    const std::string_view payload = text_of(expected);
    write_file(path, case_hash(workload, example, payload).append(payload));
  }
  return expected;
}

void Oracle::keep(const Identity& identity, std::shared_ptr<const OracleCase> oracle_case) {
  const int64_t bytes = oracle_case->bytes();
  const std::lock_guard lock(mutex_);
  if (bytes > limit_bytes_ || kept_.contains(identity)) return;
  while (kept_bytes_ + bytes > limit_bytes_) {
    const auto oldest = kept_.find(uses_.back());
    kept_bytes_ -= oldest->second.oracle_case->bytes();
    kept_.erase(oldest);
    uses_.pop_back();
  }
  uses_.push_front(identity);
  kept_[identity] = {std::move(oracle_case), uses_.begin()};
  kept_bytes_ += bytes;
}

}  // namespace warpwright
