// ONNX's own node tests: each gives the recorded outputs or is refused by name. docs/onnx_node_tests.md is the table of
// what each does; the test holds it against the truth, and writes it where WARPWRIGHT_WRITE_TABLES is set.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/graph/lowering.h"
#include "src/import/constants.h"
#include "tests/import/model_builder.h"

namespace warpwright {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> node_tests() {
  const char* set = std::getenv("WARPWRIGHT_SHARED");
  const fs::path folder = fs::path(set ? set : WARPWRIGHT_SOURCE_DIR "/../shared") / "onnx_node";
  if (!fs::is_directory(folder)) return std::nullopt;
  return folder;
}

std::vector<onnx::TensorProto> read_tensors(const fs::path& folder, const std::string& kind) {
  std::vector<onnx::TensorProto> tensors;
  for (int i = 0; fs::exists(folder / fmt::format("{}_{}.pb", kind, i)); ++i) {
    tensors.emplace_back().ParseFromString(read_file(folder / fmt::format("{}_{}.pb", kind, i)));
  }
  return tensors;
}

/// One line about a fault: that of the first node in the list.
std::string reason(const std::string& message) {
  const size_t at = message.find("\n  ");
  std::string line = at == std::string::npos ? message : message.substr(at + 3);
  return line.substr(0, line.find('\n'));
}

/// The model with all inputs but the first `free_inputs` as initializers of the recorded values.
onnx::ModelProto bound(onnx::ModelProto model, const std::vector<onnx::TensorProto>& values, int free_inputs) {
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = free_inputs; i < graph.input_size(); ++i) {
    onnx::TensorProto& constant = *graph.add_initializer();
    constant = values[static_cast<size_t>(i)];
    constant.set_name(graph.input(i).name());
  }
  graph.mutable_input()->DeleteSubrange(free_inputs, graph.input_size() - free_inputs);
  return model;
}

/// `exact`, or why not.
std::string outcome(const fs::path& folder, const onnx::ModelProto& model, int free_inputs) {
  const std::vector<onnx::TensorProto> inputs = read_tensors(folder, "input"), outputs = read_tensors(folder, "output");
  const TemporaryFolder temporary;
  const fs::path path = temporary.path() / "model.onnx";
  write_file(path, bound(model, inputs, free_inputs).SerializeAsString());
  try {
    const Program program = lower(import_onnx(path, {}));
    NamedTensors given;
    for (int i = 0; i < free_inputs; ++i) {
      given[model.graph().input(i).name()] = to_tensor(read_constant(inputs[static_cast<size_t>(i)], "input", {}));
    }
    const NamedTensors got = run_on_reference(program, given);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor wanted = to_tensor(read_constant(outputs[i], "output", {}));
      if (got.at(model.graph().output(static_cast<int>(i)).name()) != wanted) return "WRONG";
    }
    return "exact";
  } catch (const UsageError& error) {
    return "refused: " + reason(error.what());
  }
}

std::string table(const fs::path& tests) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(tests)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::string text =
      "# ONNX's own node tests\n\n"
      "The node tests of the onnx project for quantized operators. They feed scales, zero points and weights as graph\n"
      "inputs; quantized networks hold them as constants. So each test runs twice: as it is, and with every input but\n"
      "the first as an initializer of the recorded value. `exact`: all outputs equal, bit for bit.\n\n"
      "All operators, by the node tests of the onnx package: [onnx_operators.md](onnx_operators.md).\n\n"
      "Written by `WARPWRIGHT_WRITE_TABLES=1 import_tests --gtest_filter='OnnxNodeTests.*'`; without the variable the\n"
      "test checks that what stands here is true.\n\n"
      "| test | with constants | as it is |\n|---|---|---|\n";
  for (const fs::path& folder : folders) {
    onnx::ModelProto model;
    model.ParseFromString(read_file(folder / "model.onnx"));
    const fs::path data = folder / "test_data_set_0";
    text += fmt::format("| {} | {} | {} |\n", folder.filename().string().substr(5), outcome(data, model, 1),
                        outcome(data, model, model.graph().input_size()));
  }
  return text;
}

TEST(OnnxNodeTests, TableOfTheDocsIsTrueAndNothingIsWrong) {
  const auto tests = node_tests();
  if (!tests) GTEST_SKIP() << "no folder of node tests";
  const std::string now = table(*tests);
  const fs::path path = WARPWRIGHT_SOURCE_DIR "/docs/onnx_node_tests.md";
  if (std::getenv("WARPWRIGHT_WRITE_TABLES")) write_file(path, now);
  EXPECT_EQ(now.find("WRONG"), std::string::npos) << now;
  EXPECT_EQ(now, read_file(path));
}

}  // namespace
}  // namespace warpwright
