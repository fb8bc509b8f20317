// Runs recorded cases.
#include "tests/graph/case_runner.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "src/core/error.h"
#include "src/core/half.h"
#include "src/core/npy.h"
#include "src/graph/lowering.h"

namespace warpwright {

namespace {

double element(const Tensor& tensor, size_t i) {
  switch (tensor.dtype) {
    case DType::f32:
      return tensor.as<float>()[i];
    case DType::f16:
      return from_half(tensor.as<uint16_t>()[i]);
    case DType::u8:
      return tensor.as<uint8_t>()[i];
    case DType::s8:
      return tensor.as<int8_t>()[i];
    case DType::boolean:
      return tensor.as<uint8_t>()[i];
    case DType::s64:
      return static_cast<double>(tensor.as<int64_t>()[i]);
    case DType::s32:
      return tensor.as<int32_t>()[i];
  }
  throw InternalError("a tensor of no element type");
}

std::string compare(const Tensor& got, const Tensor& wanted, const Json& match) {
  if (match.is_string() || got.dtype != wanted.dtype || got.shape != wanted.shape) return difference(got, wanted);
  for (size_t i = 0; i < static_cast<size_t>(got.size()); ++i) {
    if (equal_element(got, wanted, static_cast<int64_t>(i))) continue;
    const double distance = std::fabs(element(got, i) - element(wanted, i));
    const double allowed = match.contains("lsb") ? match.at("lsb").get<double>()
                                                 : match.at("atol").get<double>() +
                                                       match.at("rtol").get<double>() * std::fabs(element(wanted, i));
    if (!(distance <= allowed)) return fmt::format("element {} is {} off", i, distance);
  }
  return {};
}

NamedTensors read_inputs(const std::filesystem::path& folder, const Json& run) {
  NamedTensors inputs;
  for (const Json& input : run.at("inputs")) {
    try {
      inputs[input.at("name").get<std::string>()] = read_npy(folder / input.at("file").get<std::string>());
    } catch (const UsageError&) {
      // A type that has no place here: the model is refused anyway.
    }
  }
  return inputs;
}

std::string run_once(const std::filesystem::path& folder, const Json& run) {
  const NamedTensors inputs = read_inputs(folder, run);
  ShapeBindings shapes;
  for (const auto& [name, tensor] : inputs) shapes[name] = tensor.shape;
  const Program program = lower(import_onnx(folder / "model.onnx", shapes));
  const NamedTensors outputs = run_on_reference(program, inputs);
  for (const Json& output : run.at("outputs")) {
    const auto name = output.at("name").get<std::string>();
    const char* file = output.contains("rule_file") ? "rule_file" : "file";
    const Tensor wanted = read_npy(folder / output.at(file).get<std::string>());
    if (!outputs.count(name)) return fmt::format("output {} is missing", name);
    const std::string fault = compare(outputs.at(name), wanted, output.at("match"));
    if (!fault.empty()) return fmt::format("output {}: {}", name, fault);
  }
  return {};
}

}  // namespace

std::optional<std::filesystem::path> shared_folder() {
  const char* set = std::getenv("WARPWRIGHT_SHARED");
  const std::filesystem::path folder = set ? set : WARPWRIGHT_SOURCE_DIR "/../shared";
  if (!std::filesystem::is_directory(folder / "models")) return std::nullopt;
  return folder;
}

std::filesystem::path test_data_folder() { return WARPWRIGHT_SOURCE_DIR "/tests/data"; }

CaseOutcome run_case(const std::filesystem::path& folder, const Json& item) {
  const auto at = folder / item.at("name").get<std::string>();
  try {
    if (item.at("runs").empty()) lower(import_onnx(at / "model.onnx", {}));
    for (const Json& run : item.at("runs")) {
      const std::string fault = run_once(at, run);
      if (!fault.empty()) return {CaseResult::wrong, fault};
    }
    return {CaseResult::held, {}};
  } catch (const UsageError& error) {
    return {CaseResult::refused, error.what()};
  } catch (const std::exception& error) {
    return {CaseResult::wrong, std::string("thrown: ") + error.what()};
  }
}

std::string difference(const Tensor& got, const Tensor& wanted) {
  if (got.dtype != wanted.dtype) return fmt::format("type {} instead of {}", name(got.dtype), name(wanted.dtype));
  if (got.shape != wanted.shape) return "another shape";
  size_t count = 0, first = 0;
  for (size_t i = 0; i < static_cast<size_t>(got.size()); ++i) {
    const bool same = equal_element(got, wanted, static_cast<int64_t>(i));
    if (!same && count++ == 0) first = i;
  }
  if (count == 0) return {};
  return fmt::format("{} of {} elements differ, first number {}: {} instead of {}", count, got.size(), first,
                     element(got, first), element(wanted, first));
}

}  // namespace warpwright
