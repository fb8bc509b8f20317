// Names and attributes of a call, put into the body of its function.
#include "src/import/functions.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "src/core/error.h"

namespace warpwright {

namespace {

const onnx::AttributeProto* find_attribute(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                                           const std::string& name) {
  for (const auto& attribute : call.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  // Defaults are a later addition to the format than the message classes here.
  const bool declared =
      std::find(function.attribute().begin(), function.attribute().end(), name) != function.attribute().end();
  if (!declared)
    throw UsageError(fmt::format("attribute {} of its function has a default, which is not supported", name));
  return nullptr;
}

/// Attributes that refer to the call's take its values; those that the call leaves out go.
void set_attributes(onnx::NodeProto& node, const onnx::FunctionProto& function, const onnx::NodeProto& call) {
  std::vector<onnx::AttributeProto> attributes;
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g() || attribute.graphs_size() > 0) {
      throw UsageError(
          fmt::format("attribute {} of a function's node is a graph, which is not supported", attribute.name()));
    }
    if (attribute.ref_attr_name().empty()) {
      attributes.push_back(attribute);
    } else if (const auto* value = find_attribute(function, call, attribute.ref_attr_name())) {
      attributes.push_back(*value);
      attributes.back().set_name(attribute.name());
    }
  }
  node.clear_attribute();
  for (auto& attribute : attributes) *node.add_attribute() = std::move(attribute);
}

}  // namespace

void check_functions(const onnx::ModelProto& model) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& function : model.functions()) {
    if (seen.emplace(function.domain(), function.name()).second) continue;
    throw UsageError(fmt::format("the model defines the function {}.{} twice, which is not supported",
                                 function.domain(), function.name()));
  }
}

const onnx::FunctionProto* called_function(const onnx::ModelProto& model, const onnx::NodeProto& node) {
  for (const auto& function : model.functions()) {
    if (function.name() == node.op_type() && function.domain() == node.domain()) return &function;
  }
  return nullptr;
}

std::vector<onnx::NodeProto> inlined(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                                     const std::string& prefix) {
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    throw UsageError("it has more inputs or outputs than the function that it calls");
  }
  std::map<std::string, std::string> names;
  for (int i = 0; i < function.input_size(); ++i) names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
  for (int i = 0; i < function.output_size(); ++i) {
    if (i < call.output_size() && !call.output(i).empty()) names[function.output(i)] = call.output(i);
  }
  const auto name_of = [&](const std::string& name) {
    if (name.empty()) return name;
    const auto found = names.find(name);
    return found == names.end() ? prefix + "/" + name : found->second;
  };
  std::vector<onnx::NodeProto> nodes;
  for (const auto& inner : function.node()) {
    onnx::NodeProto node = inner;
    if (!node.name().empty()) node.set_name(prefix + "/" + node.name());
    for (auto& name : *node.mutable_input()) name = name_of(name);
    for (auto& name : *node.mutable_output()) name = name_of(name);
    set_attributes(node, function, call);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

int64_t most_inlined_bytes(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                           const std::string& prefix) {
  constexpr int64_t kNodeBytes = 2048;  // of a node without names and attributes
  const auto prefix_bytes = static_cast<int64_t>(prefix.size()) + 1,
             call_bytes = static_cast<int64_t>(call.ByteSizeLong());
  auto bytes = static_cast<int64_t>(function.ByteSizeLong());
  for (const auto& node : function.node()) {
    bytes += kNodeBytes + prefix_bytes * (1 + node.input_size() + node.output_size());
    for (const auto& attribute : node.attribute()) bytes += attribute.ref_attr_name().empty() ? 0 : call_bytes;
  }
  return bytes;
}

}  // namespace warpwright
