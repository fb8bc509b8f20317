// Import: reads the file, binds the shapes of the inputs, hands each node to its operator, collects the faults.
#include "src/import/import.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "src/core/error.h"
#include "src/graph/formula.h"
#include "src/import/bound_shapes.h"
#include "src/import/constant_folding.h"
#include "src/import/functions.h"
#include "src/import/onnx_file.h"
#include "src/import/operators.h"

namespace warpwright {

namespace {

constexpr int kMostCalls = 16;
/// Of what functions expand to: so many, and so many for each byte of the nodes and functions in the file.
constexpr int64_t kInlinedBytes = int64_t{64} << 20, kInlinedBytesForEach = 64;

class Importer {
 public:
  Importer(const OnnxFile& file, std::filesystem::path folder, const ShapeBindings& shapes, Unsupported unsupported)
      : model_(file.model),
        raw_data_(file.raw_data),
        folder_(std::move(folder)),
        skips_(unsupported == Unsupported::skipped),
        tensors_(graph_),
        shapes_(shapes) {}

  ImportedGraph run() {
    const auto imported = default_opset(model_.opset_import(), "the model");
    if (!imported) throw UsageError("the model imports no opset of the default domain");
    const int64_t opset = *imported;
    check_functions(model_);
    const std::vector<int> order = sorted_nodes(model_.graph());
    for (int i = 0; i < model_.graph().initializer_size(); ++i) {
      const auto& proto = model_.graph().initializer(i);
      add_constant(read_constant(proto, proto.name(), folder_, raw_data_[static_cast<size_t>(i)]));
    }
    find_reads();
    left_inlined_bytes_ = kInlinedBytes + kInlinedBytesForEach * node_bytes();
    add_inputs();
    if (skips_) {
      for (const auto& info : model_.graph().value_info()) declared_.emplace(info.name(), &info);
    }
    for (int index : order) {
      const size_t faults = faults_.size(), nodes = graph_.onnx_nodes.size();
      take_node(model_.graph().node(index), opset);
      if (skips_) bridge(model_.graph().node(index), faults < faults_.size());
      if (faults == faults_.size()) continue;
      for (size_t i = nodes; i < graph_.onnx_nodes.size(); ++i) {
        why_left_out_.emplace(graph_.onnx_nodes[i].name, "part of what is left out");
      }
    }
    if (!faults_.empty() && !skips_) {
      throw UsageError(
          fmt::format("the model has {} part{} that cannot be taken:\n{}\n"
                      "extract and tune take the rest with --skip-unsupported",
                      faults_.size(), faults_.size() == 1 ? "" : "s", fmt::join(faults_, "\n")));
    }
    add_outputs();
    for (const auto& output : model_.graph().output()) loose_ends_.erase(output.name());
    for (const std::string& name : loose_ends_) add_loose_end(name);
    if (graph_.outputs.empty() && !faults_.empty()) {
      throw UsageError(
          fmt::format("nothing is left of the model without what cannot be taken:\n{}", fmt::join(faults_, "\n")));
    }
    return {std::move(graph_), std::move(faults_), std::move(why_left_out_)};
  }

 private:
  static int64_t bytes_of(const OnnxConstant& constant) {
    return constant.size() * static_cast<int64_t>(element_bytes(constant.type));
  }

  int64_t node_bytes() const {
    size_t bytes = 0;
    for (const auto& node : model_.graph().node()) bytes += node.ByteSizeLong();
    for (const auto& function : model_.functions()) bytes += function.ByteSizeLong();
    return static_cast<int64_t>(bytes);
  }

  /// One that the file holds; inside a function it counts as computed, since every call has its own.
  void add_constant(OnnxConstant constant) {
    if (calls_ == 0) {
      graph_.constant_budget.grow(bytes_of(constant));
    } else {
      take_bytes(graph_, bytes_of(constant));
    }
    tensors_.add_constant(std::move(constant));
  }

  void add_inputs() {
    std::set<std::string> names;
    std::vector<const onnx::ValueInfoProto*> inputs;
    for (const auto& input : model_.graph().input()) {
      if (tensors_.constant(input.name())) continue;  // an initializer listed again, as before IR version 4
      names.insert(input.name());
      inputs.push_back(&input);
    }
    for (const auto& [name, shape] : shapes_.given()) {
      if (!names.count(name)) {
        throw UsageError(fmt::format("--shape {}={}: the model has no input of this name; it has {}", name,
                                     fmt::join(shape, ","), fmt::join(names, ", ")));
      }
    }
    for (const onnx::ValueInfoProto* input : inputs) add_input(*input);
  }

  /// One of a type that is not taken is a fault like those of nodes.
  void add_input(const onnx::ValueInfoProto& input) {
    const std::string& name = input.name();
    if (!input.type().has_tensor_type()) {
      faults_.push_back(fmt::format("  graph input \"{}\" is no tensor", name));
      return;
    }
    const auto& type = input.type().tensor_type();
    const auto dtype = dtype_of(type.elem_type());
    if (!dtype) {
      faults_.push_back(
          fmt::format("  graph input \"{}\": {} tensors are not supported", name, element_type_name(type.elem_type())));
      return;
    }
    add_input(name, *dtype, shapes_.bind(name, type));
  }

  void add_input(const std::string& name, DType dtype, Shape shape) {
    input_names_.insert(name);
    const TensorId id = graph_.add_tensor(name, dtype, std::move(shape));
    try {
      check_shape(graph_.tensor(id).shape);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("graph input \"{}\": {}", name, error.what()));
    }
    graph_.inputs.push_back(id);
    tensors_.add(name, dtype == DType::f16 ? converted(id, DType::f32, name + "/float32") : id);
  }

  /// The tensor as another type.
  TensorId converted(TensorId id, DType dtype, const std::string& name) {
    Formula formula(graph_);
    Node node = formula.step(warpwright::converted(formula.tensor(id), dtype));
    node.name = name;
    node.output = graph_.add_tensor(name, dtype, Shape(graph_.tensor(id).shape));
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().output;
  }

  void take_node(const onnx::NodeProto& node, int64_t opset) {
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    try {
      if (const auto* function = called_function(model_, node)) return take_call(*function, node, opset);
      if (domain.empty() && node.op_type() == "Constant") return add_constant(constant_of_node(node, folder_));
      const bool is_if = domain.empty() && node.op_type() == "If";
      graph_.onnx_nodes.push_back({display_name(node), node.op_type()});
      const ImportOperator import = find_operator(domain, node.op_type());
      const bool known = std::all_of(node.input().begin(), node.input().end(), [&](const std::string& input) {
        return input.empty() || tensors_.is_known(input);
      });
      if (is_if && known) return take_branch(node, opset);
      if (known && domain.empty() && fold(node, opset)) return;
      const bool folds = domain.empty() && is_folded(node.op_type());
      if (!import && !is_if && !folds) throw UsageError("the operator is not supported");
      if (node.output_size() == 0 || node.output(0).empty()) throw UsageError("the node has no output");
      if (!known) return;  // hangs on a node that is listed already
      if (!import) throw UsageError("it is only supported over constants that are not too large");
      OperatorContext context(graph_, tensors_, node, opset);
      import(context);
      context.attributes.check_all_asked();
      check_outputs(node);
    } catch (const UsageError& error) {
      add_fault(node, error.what());
    }
  }

  void add_fault(const onnx::NodeProto& node, const std::string& reason) {
    const std::string name = display_name(node);
    const bool is_default = node.domain().empty() || node.domain() == "ai.onnx";
    faults_.push_back(fmt::format("  node '{}' ({}{}{}): {}", name, is_default ? "" : node.domain(),
                                  is_default ? "" : ".", node.op_type(), reason));
    why_left_out_.emplace(name, reason);
  }

  /// Whether the node hangs on no graph input and is computed.
  bool fold(const onnx::NodeProto& node, int64_t opset) {
    auto results = fold_node(node, tensors_, opset);
    if (!results) return false;
    for (size_t i = 0; i < results->size(); ++i) {
      OnnxConstant& result = (*results)[i];
      result.name = node.output(static_cast<int>(i));
      if (result.name.empty()) continue;
      take_bytes(graph_, bytes_of(result));
      tensors_.add_constant(std::move(result));
    }
    return true;
  }

  /// An If whose condition is constant is the nodes of its branch. The branch's own names are free again behind it.
  void take_branch(const onnx::NodeProto& node, int64_t opset) {
    const OnnxConstant* condition = node.input_size() == 1 ? tensors_.constant(node.input(0)) : nullptr;
    if (!condition || condition->type != kBool || condition->size() != 1) {
      throw UsageError("its condition is no constant bool: branches taken at run time are not supported");
    }
    const std::string name = condition->bytes()[0] != 0 ? "then_branch" : "else_branch";
    const onnx::GraphProto* branch = nullptr;
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == name && attribute.has_g()) branch = &attribute.g();
    }
    if (!branch || branch->output_size() != node.output_size()) {
      throw UsageError(fmt::format("attribute {} is no graph of {} outputs", name, node.output_size()));
    }
    const size_t faults = faults_.size();
    std::set<std::string> own;
    for (const auto& proto : branch->initializer()) {
      require_fresh(proto.name());
      own.insert(proto.name());
      add_constant(read_constant(proto, proto.name(), folder_));
    }
    for (const auto& output : branch->output()) reads_.insert(output.name());
    for (const auto& inner : branch->node()) {
      reads_.insert(inner.input().begin(), inner.input().end());
      for (const std::string& output : inner.output()) require_fresh(output);
      own.insert(inner.output().begin(), inner.output().end());
      take_node(inner, opset);
    }
    std::vector<ImportedTensors::Meaning> results;
    for (const auto& output : branch->output()) {
      if (!tensors_.is_known(output.name()) && faults == faults_.size()) {
        throw UsageError(fmt::format("\"{}\" of its {} is written by nothing", output.name(), name));
      }
      results.push_back(tensors_.meaning(output.name()));
    }
    for (const std::string& inner : own) tensors_.forget(inner);
    for (int i = 0; i < node.output_size(); ++i) tensors_.set_meaning(node.output(i), results[static_cast<size_t>(i)]);
  }

  void require_fresh(const std::string& name) const {
    if (!name.empty() && tensors_.is_known(name)) throw UsageError(fmt::format("it writes \"{}\" again", name));
  }

  void take_call(const onnx::FunctionProto& function, const onnx::NodeProto& node, int64_t opset) {
    if (calls_ == kMostCalls) throw UsageError("functions call each other too deeply");
    const std::string prefix = display_name(node);
    left_inlined_bytes_ -= most_inlined_bytes(function, node, prefix);
    if (left_inlined_bytes_ < 0) throw UsageError("functions expand to too many nodes");
    const int64_t own_opset = default_opset(function.opset_import(), "its function").value_or(opset);
    const auto body = inlined(function, node, prefix);
    for (const auto& inner : body) {
      reads_.insert(inner.input().begin(), inner.input().end());
      for (const std::string& output : inner.output()) require_fresh(output);
    }
    ++calls_;
    for (const auto& inner : body) take_node(inner, own_opset);
    --calls_;
    for (const std::string& output : node.output()) {
      if (faults_.empty() && !output.empty() && !tensors_.is_known(output)) {
        throw UsageError(fmt::format("its function does not write \"{}\"", output));
      }
    }
  }

  /// Where a node is left out: inputs of the graph in place of what it writes, if the file declares them, and outputs
  /// of the graph of what it reads.
  void bridge(const onnx::NodeProto& node, bool is_fault) {
    bool is_whole = !is_fault;
    for (const std::string& output : node.output())
      is_whole = is_whole && (output.empty() || tensors_.is_known(output));
    if (is_whole) return;
    if (!is_fault) add_fault(node, "hangs on what is left out");
    for (const std::string& name : tensors_read(node)) loose_ends_.insert(name);
    for (const std::string& output : node.output()) {
      tensors_.forget(output);
      const auto declared = declared_.find(output);
      if (declared != declared_.end()) stand_in(*declared->second);
    }
  }

  /// An input of the graph in place of what is left out; nothing where the file leaves type or shape open.
  void stand_in(const onnx::ValueInfoProto& declared) {
    const auto& type = declared.type().tensor_type();
    const auto dtype = dtype_of(type.elem_type());
    if (!dtype || !type.has_shape()) return;
    std::optional<Shape> shape = shapes_.known(type.shape());
    if (shape) add_input(declared.name(), *dtype, std::move(*shape));
  }

  void add_loose_end(const std::string& name) {
    if (!tensors_.is_known(name) || tensors_.constant(name)) return;
    const TensorId id = tensors_.id(name);
    if (!input_names_.contains(name) && !tensors_.is_derived_from_constants(id)) graph_.outputs.push_back({name, id});
  }

  /// Whatever is read must be there now.
  void check_outputs(const onnx::NodeProto& node) const {
    for (int i = 1; i < node.output_size(); ++i) {
      if (!node.output(i).empty() && reads_.count(node.output(i)) && !tensors_.is_known(node.output(i))) {
        throw UsageError(fmt::format("its output \"{}\" is not supported", node.output(i)));
      }
    }
  }

  void find_reads() {
    for (const auto& node : model_.graph().node()) {
      for (const std::string& name : tensors_read(node)) reads_.insert(name);
    }
    for (const auto& output : model_.graph().output()) reads_.insert(output.name());
  }

  void add_outputs() {
    for (const auto& output : model_.graph().output()) {
      const bool is_known = tensors_.is_known(output.name());
      if (!faults_.empty() && (!is_known || input_names_.contains(output.name()))) continue;  // left out
      if (!is_known) {
        throw UsageError(fmt::format("graph output \"{}\" hangs on a tensor that nothing writes", output.name()));
      }
      TensorId id = tensors_.id(output.name());
      const int declared = output.type().tensor_type().elem_type();
      if (declared == kFloat16 && graph_.tensor(id).dtype == DType::f32) {
        graph_.outputs.push_back({output.name(), converted(id, DType::f16, output.name() + "/float16")});
        continue;
      }
      const DType dtype = graph_.tensor(id).dtype;
      if (declared != 0 && dtype_of(declared) != dtype) {
        throw UsageError(fmt::format("graph output \"{}\" is declared {} and computed as {}", output.name(),
                                     element_type_name(declared), name(dtype)));
      }
      graph_.outputs.push_back({output.name(), id});
    }
  }

  const onnx::ModelProto& model_;
  const std::vector<std::optional<FileRange>>& raw_data_;
  const std::filesystem::path folder_;
  const bool skips_;  // what cannot be taken
  Graph graph_;
  ImportedTensors tensors_;
  BoundShapes shapes_;
  std::set<std::string> reads_;
  std::vector<std::string> faults_;
  std::map<std::string, std::string> why_left_out_;
  std::map<std::string, const onnx::ValueInfoProto*> declared_;  // what the file says of tensors between nodes
  std::set<std::string> input_names_;
  std::set<std::string> loose_ends_;  // read by what is left out
  int calls_ = 0;                     // of functions, one in the other
  int64_t left_inlined_bytes_ = 0;
};

}  // namespace

Graph import_onnx(const std::filesystem::path& path, const ShapeBindings& shapes) {
  return import_onnx(path, shapes, Unsupported::refused).graph;
}

ImportedGraph import_onnx(const std::filesystem::path& path, const ShapeBindings& shapes, Unsupported unsupported) {
  const OnnxFile file = read_onnx(path);
  return Importer(file, path.parent_path(), shapes, unsupported).run();
}

}  // namespace warpwright
