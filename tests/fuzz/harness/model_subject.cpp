// ONNX models as a subject.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "src/graph/executor.h"
#include "src/graph/lowering.h"
#include "src/import/import.h"
#include "src/import/input_shapes.h"
#include "src/tasks/tasks.h"
#include "tests/fuzz/harness/model_mutation.h"
#include "tests/fuzz/harness/shared_keys.h"
#include "tests/fuzz/harness/subject.h"

namespace warpwright::testing {

namespace {

constexpr int64_t kMostSeedBytes = 64 << 10;
constexpr int64_t kMostProducts = 1 << 20;  // multiply-adds that are run
constexpr int64_t kMostRunBytes = 1 << 20;  // of all buffers of a program that is run
constexpr int64_t kLegalConfigs = 4;        // counted of a space

/// All models of the tests in the order of their paths.
SeedModels read_seeds() {
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(WARPWRIGHT_SOURCE_DIR "/tests/data")) {
    if (entry.path().extension() == ".onnx" && entry.file_size() <= kMostSeedBytes) paths.insert(entry.path());
  }
  std::vector<onnx::ModelProto> seeds;
  for (const auto& path : paths) {
    onnx::ModelProto model;
    const std::string bytes = read_file(path);
    if (model.ParseFromString(bytes) && model.graph().node_size() > 0) seeds.push_back(std::move(model));
  }
  if (seeds.empty()) throw UsageError("there are no models to start from in tests/data");
  return SeedModels(std::move(seeds));
}

/// Extents for what the model leaves open: the same for the same file.
ShapeBindings bindings_for(const std::filesystem::path& path) {
  Draw draw(std::stoull(sha256_hex(read_file(path)).substr(0, 16), nullptr, 16));
  ShapeBindings shapes;
  for (auto& [name, shape] : declared_input_shapes(path)) {
    if (std::find(shape.begin(), shape.end(), -1) == shape.end()) continue;
    Shape bound = shape;
    for (int64_t& extent : bound) {
      if (extent < 0) extent = draw.one_of<int64_t>({1, 1, 2, 3, 8, 16});
    }
    shapes[name] = bound;
  }
  return shapes;
}

/// Spaces of all families that take it. Of one Workload in eight also the defaults: a search through the space.
void ask_families(const Workload& workload, const std::string& key) {
  const bool asks_defaults = key.back() == '0' || key.back() == '8';
  const Target& target = target_preset("rtx4090");
  for (const KernelFamily* family : kernel_families()) {
    if (family->why_unsupported(workload, target)) continue;
    const Space space = family->space(workload, target);
    if (!space.enumerate(kLegalConfigs).empty() && asks_defaults) family->default_config(workload, target);
  }
}

bool is_small(const Program& program) {
  int64_t bytes = 0, products = 0;
  for (const ProgramTensor& tensor : program.tensors) bytes += std::min(tensor.form.buffer_bytes(), kMostRunBytes + 1);
  for (const ProgramStep& step : program.steps) {
    products += std::min(step.workload.multiply_adds(), kMostProducts + 1);
  }
  return bytes <= kMostRunBytes && products <= kMostProducts;
}

/// Input of all bit patterns.
void run(const Program& program) {
  NamedTensors inputs;
  for (const ProgramPort& port : program.inputs) {
    Tensor tensor(port.dtype, port.shape);
    for (size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = static_cast<std::byte>(i * 37 + i / 251);
    inputs[port.name] = std::move(tensor);
  }
  run_on_reference(program, inputs);
}

class ModelSubject : public Subject {
 public:
  std::string_view name() const override { return "model"; }
  std::string file_name() const override { return "model.onnx"; }

  void prepare_folder(const std::filesystem::path& folder) const override {
    std::ofstream file(folder / kExternalFile, std::ios::binary);
    for (int64_t i = 0; i < kExternalBytes; ++i) file.put(static_cast<char>(i * 7));
  }

  void write_mutant(uint64_t seed, const std::filesystem::path& path) const override {
    Draw draw(seed);
    onnx::ModelProto model = seeds_.any(draw);
    const int64_t kind = draw.between(1, 100);  // 85 by structure, 15 by bytes
    for (int64_t changes = 1 + draw.between(0, 3) * draw.between(0, 2); kind <= 85 && changes > 0; --changes) {
      if (draw.chance(40)) {
        mutate_messages(model, seeds_, draw);
      } else {
        mutate_graph(model, seeds_, draw);
      }
    }
    std::string bytes;
    model.SerializePartialToString(&bytes);
    for (int64_t changes = draw.between(1, 4); kind > 85 && changes > 0; --changes) mutate_bytes(bytes, draw);
    std::ofstream(path, std::ios::binary) << bytes;
  }

  /// What is left of a model that is refused is read as well.
  void read(const std::filesystem::path& path) const override {
    ImportedGraph imported = import_onnx(path, bindings_for(path), Unsupported::skipped);
    const Program program = lower(std::move(imported.graph));
    for (const Task& task : extract_tasks(program)) {
      to_json(task.workload);
      if (asked_.insert(task.key)) ask_families(task.workload, task.key);
    }
    if (is_small(program)) run(program);
    if (!imported.left_out.empty()) throw UsageError(imported.left_out.front());
  }

 private:
  const SeedModels seeds_ = read_seeds();
  mutable SharedKeys asked_;  // of Workloads whose families have answered
};

}  // namespace

std::unique_ptr<Subject> model_subject() { return std::make_unique<ModelSubject>(); }

}  // namespace warpwright::testing
