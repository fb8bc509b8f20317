// Parsing the model file and checking its structure.
#include "src/import/onnx_file.h"

#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>

#include <array>
#include <map>
#include <set>

#include "src/core/error.h"
#include "src/import/onnx_parser.h"

namespace warpwright {

namespace {

constexpr int64_t kOldestOpset = 7;  // from here on Add and Mul broadcast as NumPy does
constexpr int64_t kNewestOpset = 25;
/// Protobuf writes its own complaints to stderr; ours says the same in one line.
class SilentProtobuf {
 public:
  SilentProtobuf() : previous_(google::protobuf::SetLogHandler(nullptr)) {}
  ~SilentProtobuf() { google::protobuf::SetLogHandler(previous_); }
  SilentProtobuf(const SilentProtobuf&) = delete;
  SilentProtobuf& operator=(const SilentProtobuf&) = delete;

 private:
  google::protobuf::LogHandler* previous_;
};

bool is_continuation(unsigned char byte) { return (byte & 0xC0u) == 0x80u; }

bool is_utf8(const std::string& text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t i = 0;
  while (i < text.size()) {
    const unsigned char lead = bytes[i];
    const size_t more = lead < 0x80                    ? 0
                        : lead >= 0xC2 && lead <= 0xDF ? 1
                        : lead >= 0xE0 && lead <= 0xEF ? 2
                        : lead >= 0xF0 && lead <= 0xF4 ? 3
                                                       : 4;
    if (more == 4 || i + more >= text.size()) return false;
    uint32_t code = more == 0 ? lead : lead & (0x3Fu >> more);
    for (size_t k = 1; k <= more; ++k) {
      if (!is_continuation(bytes[i + k])) return false;
      code = code << 6 | (bytes[i + k] & 0x3Fu);
    }
    const bool overlong = (more == 2 && code < 0x800) || (more == 3 && code < 0x10000);
    if (overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    i += more + 1;
  }
  return true;
}

void check_name(const std::string& text, const char* what) {
  if (!is_utf8(text)) throw UsageError(fmt::format("not a usable ONNX model: the name of a {} is no UTF-8", what));
}

void check_names(const onnx::GraphProto& graph);

void check_names(const onnx::NodeProto& node) {
  check_name(node.name(), "node");
  check_name(node.op_type(), "operator");
  check_name(node.domain(), "domain");
  for (const auto& text : node.input()) check_name(text, "tensor");
  for (const auto& text : node.output()) check_name(text, "tensor");
  for (const auto& attribute : node.attribute()) {
    check_name(attribute.name(), "attribute");
    if (attribute.has_g()) check_names(attribute.g());
    for (const auto& inner : attribute.graphs()) check_names(inner);
  }
}

void check_names(const onnx::GraphProto& graph) {
  for (const auto& node : graph.node()) check_names(node);
  for (const auto& item : graph.initializer()) check_name(item.name(), "initializer");
  for (const auto& item : graph.input()) check_name(item.name(), "graph input");
  for (const auto& item : graph.output()) check_name(item.name(), "graph output");
}

void check_names(const onnx::FunctionProto& function) {
  check_name(function.name(), "function");
  check_name(function.domain(), "domain");
  for (const auto& text : function.input()) check_name(text, "tensor");
  for (const auto& text : function.output()) check_name(text, "tensor");
  for (const auto& text : function.attribute()) check_name(text, "attribute");
  for (const auto& node : function.node()) check_names(node);
}

using Writers = std::map<std::string, int>;  // tensor name to node index; -1 for inputs and initializers

Writers find_writers(const onnx::GraphProto& graph) {
  Writers writers;
  for (const auto& item : graph.initializer()) {
    if (!writers.emplace(item.name(), -1).second) {
      throw UsageError(fmt::format("initializer \"{}\" is given twice", item.name()));
    }
  }
  for (const auto& item : graph.sparse_initializer()) {
    throw UsageError(fmt::format("initializer \"{}\" is sparse, which is not supported", item.values().name()));
  }
  std::set<std::string> inputs;
  for (const auto& item : graph.input()) {
    if (!inputs.insert(item.name()).second) {
      throw UsageError(fmt::format("graph input \"{}\" is given twice", item.name()));
    }
    writers.emplace(item.name(), -1);
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (output.empty()) continue;
      auto [at, fresh] = writers.emplace(output, i);
      if (fresh) continue;
      const std::string other =
          at->second < 0 ? "a graph input or initializer" : "node '" + display_name(graph.node(at->second)) + "'";
      throw UsageError(
          fmt::format("tensor \"{}\" is written by {} and by node '{}'", output, other, display_name(graph.node(i))));
    }
  }
  return writers;
}

void check_reads(const onnx::GraphProto& graph, const Writers& writers) {
  std::string faults;
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) {
      if (!input.empty() && !writers.count(input)) {
        faults += fmt::format("\n  node '{}' reads \"{}\", which nothing writes", display_name(node), input);
      }
    }
  }
  std::set<std::string> outputs;
  for (const auto& output : graph.output()) {
    if (!writers.count(output.name())) {
      faults += fmt::format("\n  graph output \"{}\" is written by nothing", output.name());
    }
    if (!outputs.insert(output.name()).second) {
      faults += fmt::format("\n  graph output \"{}\" is given twice", output.name());
    }
  }
  if (!faults.empty()) throw UsageError("the model's graph is broken:" + faults);
}

}  // namespace

OnnxFile read_onnx(const std::filesystem::path& path) {
  SilentProtobuf silent;
  OnnxFile file = parse_onnx(path);
  const onnx::ModelProto& model = file.model;
  if (model.opset_import_size() == 0 && !model.has_graph()) {
    throw UsageError(fmt::format("{}: the file is no ONNX model: it has no graph", path.string()));
  }
  if (model.graph().output_size() == 0) {
    throw UsageError(fmt::format("{}: the graph has no {}outputs", path.string(),
                                 model.graph().node_size() == 0 ? "nodes and no " : ""));
  }
  check_names(model.graph());
  for (const auto& function : model.functions()) check_names(function);
  return file;
}

std::optional<int64_t> default_opset(const OpsetImports& imports, const std::string& importer) {
  std::optional<int64_t> version;
  for (const auto& opset : imports) {
    if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
    if (version && *version != opset.version()) {
      throw UsageError(
          fmt::format("{} imports two opsets of the default domain, {} and {}", importer, *version, opset.version()));
    }
    version = opset.version();
    if (*version < kOldestOpset || *version > kNewestOpset) {
      throw UsageError(fmt::format("{} imports opset {} of the default domain; {} to {} are supported", importer,
                                   *version, kOldestOpset, kNewestOpset));
    }
  }
  return version;
}

std::vector<int> sorted_nodes(const onnx::GraphProto& graph) {
  const Writers writers = find_writers(graph);
  check_reads(graph, writers);
  const size_t count = static_cast<size_t>(graph.node_size());
  std::vector<int> waiting_for(count, 0);
  std::vector<std::vector<int>> readers(count);
  std::set<int> ready;  // smallest first: the order of the file where it is free
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : tensors_read(graph.node(i))) {
      const auto found = writers.find(input);  // names within a graph of the node are none of this one's
      if (found == writers.end() || found->second < 0) continue;
      readers[static_cast<size_t>(found->second)].push_back(i);
      ++waiting_for[static_cast<size_t>(i)];
    }
    if (waiting_for[static_cast<size_t>(i)] == 0) ready.insert(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(node);
    for (int reader : readers[static_cast<size_t>(node)]) {
      if (--waiting_for[static_cast<size_t>(reader)] == 0) ready.insert(reader);
    }
  }
  if (order.size() == count) return order;
  std::string names;
  int listed = 0;
  for (size_t i = 0; i < count && listed < 10; ++i) {
    if (waiting_for[i] == 0) continue;
    names += fmt::format("{}'{}'", listed++ ? ", " : "", display_name(graph.node(static_cast<int>(i))));
  }
  throw UsageError(fmt::format("the graph has a cycle through or before the nodes {}", names));
}

std::vector<std::string> tensors_read(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  for (const std::string& input : node.input()) {
    if (!input.empty()) names.push_back(input);
  }
  const auto add_graph = [&](const onnx::GraphProto& graph) {
    std::set<std::string> own;
    const auto add = [&](const std::string& name) {
      if (!own.count(name)) names.push_back(name);
    };
    for (const auto& input : graph.input()) own.insert(input.name());
    for (const auto& constant : graph.initializer()) own.insert(constant.name());
    for (const auto& inner : graph.node()) {
      for (const std::string& name : tensors_read(inner)) add(name);
      own.insert(inner.output().begin(), inner.output().end());
    }
    for (const auto& output : graph.output()) add(output.name());
  };
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) add_graph(attribute.g());
    for (const auto& graph : attribute.graphs()) add_graph(graph);
  }
  return names;
}

std::string display_name(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return "(nameless " + node.op_type() + ")";
}

std::string element_type_name(int type) {
  constexpr std::array<const char*, 24> kNames{
      "undefined", "float32",  "uint8",     "int8",     "uint16",    "int16",  "int32",     "int64",
      "string",    "bool",     "float16",   "float64",  "uint32",    "uint64", "complex64", "complex128",
      "bfloat16",  "float8e4", "float8e4u", "float8e5", "float8e5u", "uint4",  "int4",      "float4"};
  if (type >= 0 && type < static_cast<int>(kNames.size())) return kNames[static_cast<size_t>(type)];
  return fmt::format("element type {}", type);
}

}  // namespace warpwright
