// Attributes of a node.
#include "src/import/attributes.h"

#include <fmt/core.h>

#include "src/core/error.h"

namespace warpwright {

const onnx::AttributeProto* Attributes::find(const std::string& name) const {
  for (const auto& attribute : node_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

const onnx::AttributeProto* Attributes::take(const std::string& name, int type) {
  asked_.insert(name);
  const onnx::AttributeProto* attribute = find(name);
  if (attribute && (attribute->type() != type || !attribute->ref_attr_name().empty())) {
    throw UsageError(fmt::format("attribute {} has the wrong type", name));
  }
  return attribute;
}

int64_t Attributes::integer(const std::string& name, int64_t otherwise) {
  const auto* attribute = take(name, onnx::AttributeProto_AttributeType_INT);
  return attribute ? attribute->i() : otherwise;
}

float Attributes::real(const std::string& name, float otherwise) {
  const auto* attribute = take(name, onnx::AttributeProto_AttributeType_FLOAT);
  return attribute ? attribute->f() : otherwise;
}

std::string Attributes::text(const std::string& name, const std::string& otherwise) {
  const auto* attribute = take(name, onnx::AttributeProto_AttributeType_STRING);
  return attribute ? attribute->s() : otherwise;
}

std::vector<int64_t> Attributes::integers(const std::string& name) {
  const auto* attribute = take(name, onnx::AttributeProto_AttributeType_INTS);
  if (!attribute) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<float> Attributes::reals(const std::string& name) {
  const auto* attribute = take(name, onnx::AttributeProto_AttributeType_FLOATS);
  if (!attribute) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

const onnx::TensorProto* Attributes::tensor(const std::string& name) {
  const auto* attribute = take(name, onnx::AttributeProto_AttributeType_TENSOR);
  return attribute ? &attribute->t() : nullptr;
}

void Attributes::check_all_asked() const {
  for (const auto& attribute : node_.attribute()) {
    if (!asked_.count(attribute.name())) {
      throw UsageError(fmt::format("attribute {} is not supported", attribute.name()));
    }
  }
}

}  // namespace warpwright
