// Walks ModelProto, its GraphProto and the TensorProtos of initializers by hand; everything else goes to protobuf.
#include "src/import/onnx_parser.h"

#include <fmt/core.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>

#include <climits>
#include <functional>

#include "src/core/error.h"

namespace warpwright {

namespace {

using google::protobuf::MessageLite;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr int64_t kMostFileBytes = INT_MAX;  // protobuf's own limit

constexpr uint32_t message_tag(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

class Parser {
 public:
  Parser(const std::filesystem::path& path, int64_t file_bytes, CodedInputStream& stream)
      : path_(path), file_bytes_(file_bytes), stream_(stream) {}

  bool parse(OnnxFile& file) {
    return merge(file.model, [&](uint32_t tag) -> std::optional<bool> {
      if (tag != message_tag(onnx::ModelProto::kGraphFieldNumber)) return std::nullopt;
      return nested([&] { return parse_graph(file); });
    });
  }

 private:
  /// Handles a field, or leaves it to protobuf by nothing. False: the file is broken.
  using FieldReader = std::function<std::optional<bool>(uint32_t)>;

  bool parse_graph(OnnxFile& file) {
    onnx::GraphProto& graph = *file.model.mutable_graph();
    return merge(graph, [&](uint32_t tag) -> std::optional<bool> {
      if (tag == message_tag(onnx::GraphProto::kNodeFieldNumber)) {
        return nested([&] { return graph.add_node()->MergePartialFromCodedStream(&stream_); });
      }
      if (tag != message_tag(onnx::GraphProto::kInitializerFieldNumber)) return std::nullopt;
      file.raw_data.emplace_back();
      return nested([&] { return parse_initializer(*graph.add_initializer(), file.raw_data.back()); });
    });
  }

  bool parse_initializer(onnx::TensorProto& tensor, std::optional<FileRange>& raw_data) {
    return merge(tensor, [&](uint32_t tag) -> std::optional<bool> {
      if (tag != message_tag(onnx::TensorProto::kRawDataFieldNumber)) return std::nullopt;
      uint32_t length = 0;
      if (!stream_.ReadVarint32(&length) || length > INT_MAX) return false;
      raw_data = FileRange{path_, stream_.CurrentPosition(), length};
      // Stepping beyond the end of a file is no error to it.
      return raw_data->offset + raw_data->bytes <= file_bytes_ && stream_.Skip(static_cast<int>(length));
    });
  }

  /// Reads fields up to the current limit; what `read` leaves is collected and merged into `message`.
  bool merge(MessageLite& message, const FieldReader& read) {
    std::string rest;
    {
      google::protobuf::io::StringOutputStream string(&rest);
      google::protobuf::io::CodedOutputStream out(&string);
      while (const uint32_t tag = stream_.ReadTag()) {
        const std::optional<bool> done = read(tag);
        if (!(done ? *done : WireFormatLite::SkipField(&stream_, tag, &out))) return false;
      }
    }
    google::protobuf::io::ArrayInputStream array(rest.data(), static_cast<int>(rest.size()));
    CodedInputStream stream(&array);
    return stream_.ConsumedEntireMessage() && message.MergePartialFromCodedStream(&stream) &&
           stream.ConsumedEntireMessage();
  }

  /// A message within its length.
  bool nested(const std::function<bool()>& read) {
    uint32_t length = 0;
    if (!stream_.ReadVarint32(&length) || length > INT_MAX) return false;
    const auto limit = stream_.PushLimit(static_cast<int>(length));
    const bool done = read() && stream_.ConsumedEntireMessage() && stream_.BytesUntilLimit() == 0;
    stream_.PopLimit(limit);
    return done;
  }

  const std::filesystem::path& path_;
  const int64_t file_bytes_;
  CodedInputStream& stream_;
};

}  // namespace

OnnxFile parse_onnx(const std::filesystem::path& path) {
  const InputFile file(path, kMostFileBytes);
  if (file.bytes() == 0) throw UsageError(fmt::format("{}: the file is empty", path.string()));
  google::protobuf::io::FileInputStream input(file.descriptor(), 1 << 16);
  CodedInputStream stream(&input);
  stream.SetTotalBytesLimit(INT_MAX);
  OnnxFile parsed;
  if (!Parser(path, file.bytes(), stream).parse(parsed)) {
    throw UsageError(fmt::format("{}: the file is no complete ONNX model", path.string()));
  }
  return parsed;
}

}  // namespace warpwright
