// Attributes of a node, each checked for its type. What nobody asked for is refused in the end.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace warpwright {

/// Every getter throws UsageError that names the attribute when it has another type.
class Attributes {
 public:
  explicit Attributes(const onnx::NodeProto& node) : node_(node) {}

  bool has(const std::string& name) const { return find(name) != nullptr; }
  int64_t integer(const std::string& name, int64_t otherwise);
  float real(const std::string& name, float otherwise);
  std::string text(const std::string& name, const std::string& otherwise);
  std::vector<int64_t> integers(const std::string& name);  // empty when absent
  const onnx::TensorProto* tensor(const std::string& name);
  std::vector<float> reals(const std::string& name);
  /// Takes note of an attribute that means nothing here.
  void ignore(const std::string& name) { asked_.insert(name); }
  /// Throws UsageError that names an attribute that was never asked for.
  void check_all_asked() const;

 private:
  const onnx::AttributeProto* find(const std::string& name) const;
  const onnx::AttributeProto* take(const std::string& name, int type);

  const onnx::NodeProto& node_;
  std::set<std::string> asked_;
};

}  // namespace warpwright
