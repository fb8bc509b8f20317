// Messages by reflection, and bytes.
#include "tests/fuzz/harness/model_mutation.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <limits>

namespace warpwright::testing {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void collect(Message& message, std::vector<Message*>& list) {
  list.push_back(&message);
  std::vector<const FieldDescriptor*> fields;
  const Reflection& reflection = *message.GetReflection();
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      collect(*reflection.MutableMessage(&message, field), list);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      collect(*reflection.MutableRepeatedMessage(&message, field, i), list);
    }
  }
}

template <typename T>
const T& any_of(const std::vector<T>& list, Draw& draw) {
  return list[static_cast<size_t>(draw.between(0, std::ssize(list) - 1))];
}

double odd_real(Draw& draw) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return draw.one_of({0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, 1e-38, 1e-45, 3e38, 1e300, kInfinity, -kInfinity,
                      std::numeric_limits<double>::quiet_NaN(), 127.0, 255.0, 1.0 / 3});
}

std::string odd_text(const std::string& old, Draw& draw) {
  switch (draw.between(0, 5)) {
    case 0:
      return {};
    case 1:
      return old + "x";
    case 2:
      return std::string(static_cast<size_t>(draw.between(1, 5000)), 'n');
    case 3:
      return std::string("\xff\xfe\x00\x80", 4);
    case 4:
      return draw.one_of<const char*>({"../../etc/passwd", "/dev/zero", "NOTSET", "SAME_UPPER", "VALID", "reflect",
                                       "nearest", "axis", "pads", "{}%s%n", "ai.onnx", "com.microsoft"});
    default: {
      std::string text = old;
      mutate_bytes(text, draw);
      return text;
    }
  }
}

/// One way to set and one to add for each type of value.
void write_value(Message& message, const FieldDescriptor& field, int index, bool add, Draw& draw) {
  const Reflection& r = *message.GetReflection();
  const bool element = field.is_repeated() && !add;
  const auto put = [&](auto value, auto set, auto set_element, auto append) {
    if (!field.is_repeated()) {
      (r.*set)(&message, &field, value);
    } else if (element) {
      (r.*set_element)(&message, &field, index, value);
    } else {
      (r.*append)(&message, &field, value);
    }
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(static_cast<int32_t>(odd_integer(draw)), &Reflection::SetInt32, &Reflection::SetRepeatedInt32,
                 &Reflection::AddInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return put(odd_integer(draw), &Reflection::SetInt64, &Reflection::SetRepeatedInt64, &Reflection::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(static_cast<uint64_t>(odd_integer(draw)), &Reflection::SetUInt64, &Reflection::SetRepeatedUInt64,
                 &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(static_cast<float>(odd_real(draw)), &Reflection::SetFloat, &Reflection::SetRepeatedFloat,
                 &Reflection::AddFloat);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(odd_real(draw), &Reflection::SetDouble, &Reflection::SetRepeatedDouble, &Reflection::AddDouble);
    case FieldDescriptor::CPPTYPE_ENUM:
      return put(static_cast<int>(draw.between(-1, 24)), &Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue,
                 &Reflection::AddEnumValue);
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string old = !field.is_repeated() ? r.GetString(message, &field)
                              : element            ? r.GetRepeatedString(message, &field, index)
                                                   : std::string();
      return put(odd_text(old, draw), &Reflection::SetString, &Reflection::SetRepeatedString, &Reflection::AddString);
    }
    default:
      return;  // ONNX has no other types
  }
}

void mutate_single(Message& message, const FieldDescriptor& field, const SeedModels& seeds, Draw& draw) {
  const Reflection& reflection = *message.GetReflection();
  if (draw.chance(20)) return reflection.ClearField(&message, &field);
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return write_value(message, field, 0, false, draw);
  const Message* donor = seeds.any_message(field.message_type(), draw);
  Message& target = *reflection.MutableMessage(&message, &field);
  if (donor) target.CopyFrom(*donor);
}

void add_element(Message& message, const FieldDescriptor& field, const SeedModels& seeds, Draw& draw) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return write_value(message, field, 0, true, draw);
  const Message* donor = draw.chance(80) ? seeds.any_message(field.message_type(), draw) : nullptr;
  Message& added = *message.GetReflection()->AddMessage(&message, &field);
  if (donor) added.CopyFrom(*donor);
}

void mutate_repeated(Message& message, const FieldDescriptor& field, const SeedModels& seeds, Draw& draw) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  if (size == 0) return add_element(message, field, seeds, draw);
  const int index = static_cast<int>(draw.between(0, size - 1));
  switch (draw.between(0, 6)) {
    case 0:
      return reflection.SwapElements(&message, &field, index, static_cast<int>(draw.between(0, size - 1)));
    case 1:
      reflection.SwapElements(&message, &field, index, size - 1);
      return reflection.RemoveLast(&message, &field);
    case 2:
      return add_element(message, field, seeds, draw);
    case 3:
      if (draw.chance(30)) return reflection.ClearField(&message, &field);
      [[fallthrough]];
    default:
      break;
  }
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return write_value(message, field, index, false, draw);
  if (draw.chance(50)) {  // twice
    const Message& old = reflection.GetRepeatedMessage(message, &field, index);
    const std::unique_ptr<Message> copy(old.New());
    copy->CopyFrom(old);
    reflection.AddMessage(&message, &field)->CopyFrom(*copy);
  } else if (const Message* donor = seeds.any_message(field.message_type(), draw)) {
    reflection.MutableRepeatedMessage(&message, &field, index)->CopyFrom(*donor);
  }
}

}  // namespace

SeedModels::SeedModels(std::vector<onnx::ModelProto> models) : models_(std::move(models)) {
  for (onnx::ModelProto& model : models_) {
    std::vector<Message*> messages;
    collect(model, messages);
    for (const Message* message : messages) messages_[message->GetDescriptor()].push_back(message);
  }
}

const onnx::ModelProto& SeedModels::any(Draw& draw) const { return any_of(models_, draw); }

const Message* SeedModels::any_message(const google::protobuf::Descriptor* type, Draw& draw) const {
  const auto found = messages_.find(type);
  return found == messages_.end() ? nullptr : any_of(found->second, draw);
}

int64_t odd_integer(Draw& draw) {
  if (draw.chance(50)) return draw.between(-3, 20);
  return draw.one_of<int64_t>({0,
                               1,
                               -1,
                               31,
                               32,
                               33,
                               63,
                               64,
                               65,
                               127,
                               128,
                               255,
                               256,
                               1000,
                               4096,
                               65535,
                               65536,
                               1 << 20,
                               INT32_MAX,
                               INT32_MIN,
                               int64_t{1} << 31,
                               int64_t{1} << 32,
                               int64_t{1} << 40,
                               int64_t{1} << 62,
                               INT64_MAX,
                               INT64_MIN,
                               INT64_MIN + 1});
}

void mutate_messages(onnx::ModelProto& model, const SeedModels& seeds, Draw& draw) {
  std::vector<Message*> messages;
  collect(model, messages);
  Message& message = *any_of(messages, draw);
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  if (fields.empty() || draw.chance(15)) {  // one that is not set
    const auto& type = *message.GetDescriptor();
    if (type.field_count() == 0) return;
    fields = {type.field(static_cast<int>(draw.between(0, type.field_count() - 1)))};
  }
  const FieldDescriptor& field = *any_of(fields, draw);
  if (field.is_repeated()) {
    mutate_repeated(message, field, seeds, draw);
  } else {
    mutate_single(message, field, seeds, draw);
  }
}

void mutate_bytes(std::string& bytes, Draw& draw) {
  const auto size = std::ssize(bytes);
  if (size == 0) {
    bytes.assign(static_cast<size_t>(draw.between(1, 16)), static_cast<char>(draw.between(0, 255)));
    return;
  }
  const auto at = static_cast<size_t>(draw.between(0, size - 1));
  const auto length = std::min(static_cast<size_t>(draw.between(1, draw.chance(50) ? 8 : size)), bytes.size() - at);
  switch (draw.between(0, 5)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << draw.between(0, 7)));
      break;
    case 2:
      bytes[at] = static_cast<char>(draw.between(0, 255));
      break;
    case 3:
      bytes.erase(at, length);
      break;
    case 4:
      bytes.insert(static_cast<size_t>(draw.between(0, size)), bytes.substr(at, length));
      break;
    default:
      std::fill_n(bytes.begin() + static_cast<int64_t>(at), length,
                  static_cast<char>(draw.one_of({0, 0xff, 0x80, 0x7f})));
  }
}

}  // namespace warpwright::testing
