// External data: inside the model's folder, of the declared size, checked before anything is allocated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>

#include "src/core/error.h"
#include "src/graph/lowering.h"
#include "tests/import/model_builder.h"

namespace warpwright {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ExternalData : public testing::Test {
 protected:
  ExternalData() {
    std::filesystem::create_directory(folder_.path() / "model");
    write_file(folder_.path() / "model/data.bin", std::string(100, '\x01') + std::string(12, '\x02'));
    write_file(folder_.path() / "outside.bin", std::string(200, '\x01'));
  }

  /// A 1x1 convolution whose four weights s8 [2,2,1,1] lie at `location`.
  std::string refusal(const std::string& location, const std::string& offset, const std::string& length,
                      const Shape& shape = {2, 2, 1, 1}) {
    ModelBuilder model;
    model.input("x", onnx_type<uint8_t>(), {1, 2, 4, 4});
    model.constant<float>("scale", {}, {1});
    onnx::TensorProto weights;
    weights.set_name("weights");
    weights.set_data_type(onnx_type<int8_t>());
    for (const int64_t extent : shape) weights.add_dims(extent);
    weights.set_data_location(onnx::TensorProto_DataLocation_EXTERNAL);
    const auto add = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      onnx::StringStringEntryProto& entry = *weights.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
    *model.model().mutable_graph()->add_initializer() = weights;
    model.node("DequantizeLinear", {"x", "scale"}, {"x_real"});
    model.node("DequantizeLinear", {"weights", "scale"}, {"w_real"});
    model.node("Conv", {"x_real", "w_real"}, {"product"});
    model.node("QuantizeLinear", {"product", "scale"}, {"y"});
    model.output("y");
    const auto path = folder_.path() / "model/model.onnx";
    write_file(path, model.model().SerializeAsString());
    try {
      const Program program = lower(import_onnx(path, {}));
      for (const ProgramStep& step : program.steps) {
        if (step.values.count("weights") > 0) weights_ = step.values.at("weights");
      }
      return {};
    } catch (const UsageError& error) {
      return error.what();
    }
  }

  TemporaryFolder folder_;
  Tensor weights_;  // of the last model that was taken
};

TEST_F(ExternalData, OffsetAndLength) {
  EXPECT_EQ(refusal("data.bin", "100", "4"), "");
  EXPECT_EQ(values_of<int8_t>(weights_), (std::vector<int8_t>{2, 2, 2, 2}));
  EXPECT_EQ(refusal("./data.bin", "98", ""), "");
  EXPECT_EQ(values_of<int8_t>(weights_), (std::vector<int8_t>{1, 1, 2, 2}));
  EXPECT_EQ(refusal("data.bin", "", "4"), "");
  EXPECT_EQ(values_of<int8_t>(weights_), (std::vector<int8_t>{1, 1, 1, 1}));
}

TEST_F(ExternalData, OutsideTheFolder) {
  std::filesystem::create_symlink(folder_.path() / "outside.bin", folder_.path() / "model/link.bin");
  std::filesystem::create_directory_symlink(folder_.path(), folder_.path() / "model/up");
  const std::string absolute = (folder_.path() / "model/data.bin").string();
  for (const std::string& location :
       {std::string("../outside.bin"), std::string("link.bin"), std::string("up/outside.bin"), absolute,
        std::string("/etc/passwd"), std::string("a/../../outside.bin"), std::string("..")}) {
    EXPECT_THAT(refusal(location, "0", "4"), AllOf(HasSubstr("\"weights\""), HasSubstr("outside"))) << location;
  }
  EXPECT_THAT(refusal("", "0", "4"), HasSubstr("\"weights\""));
}

TEST_F(ExternalData, SizesThatDoNotFit) {
  for (const auto& [offset, length] :
       std::vector<std::pair<std::string, std::string>>{{"109", "4"},                  // beyond the end
                                                        {"0", "5"},                    // more than the shape needs
                                                        {"9223372036854775807", "4"},  // offset + length overflows
                                                        {"999999999999999999", "4"},   // far beyond
                                                        {"-4", "4"},
                                                        {"x", "4"},
                                                        {"0", "-1"},
                                                        {"0", "99999999999999999999"}}) {
    EXPECT_THAT(refusal("data.bin", offset, length), HasSubstr("\"weights\"")) << offset << " " << length;
  }
  EXPECT_THAT(refusal("missing.bin", "0", "4"), AllOf(HasSubstr("\"weights\""), HasSubstr("missing.bin")));
  EXPECT_THAT(refusal("data.bin", "0", "", {1 << 20, 1 << 9, 1, 1}), HasSubstr("\"weights\""));
  EXPECT_THAT(refusal("data.bin", "0", "", {int64_t{1} << 40, int64_t{1} << 40, 1, 1}), HasSubstr("too large"));
}

TEST_F(ExternalData, OffsetsBeyondFourGiB) {
  const auto path = folder_.path() / "model/large.bin";
  const int64_t offset = (int64_t{1} << 32) + 8;
  {
    std::ofstream file(path, std::ios::binary);
    file.seekp(offset);
    file << "\x03\x04\x05\x06";  // what lies before is a hole
  }
  EXPECT_EQ(refusal("large.bin", std::to_string(offset), "4"), "");
  EXPECT_EQ(values_of<int8_t>(weights_), (std::vector<int8_t>{3, 4, 5, 6}));
  EXPECT_THAT(refusal("large.bin", std::to_string(offset + 1), "4"), HasSubstr("\"weights\""));
}

TEST_F(ExternalData, AFolderAndAPipeAreNoData) {
  std::filesystem::create_directory(folder_.path() / "model/inner");
  ASSERT_EQ(::mkfifo((folder_.path() / "model/pipe").c_str(), 0600), 0);
  for (const char* location : {"inner", "pipe", "."}) {
    EXPECT_THAT(refusal(location, "0", "4"), HasSubstr("\"weights\"")) << location;
  }
}

TEST(RawData, StaysWithItsTensor) {
  // Three initializers, one of them empty of raw data, in a file with fields after the graph.
  ModelBuilder model;
  model.input("x", onnx_type<uint8_t>(), {2, 2});
  model.constant<float>("scale", {}, {0.5f});
  onnx::TensorProto typed;
  typed.set_name("typed");
  typed.set_data_type(onnx_type<int64_t>());
  typed.add_dims(1);
  typed.add_int64_data(4);
  *model.model().mutable_graph()->add_initializer() = typed;
  model.constant<uint8_t>("zero", {}, {9});
  model.model().set_doc_string("behind");
  model.node("DequantizeLinear", {"x", "scale", "zero"}, {"real"});
  model.node("Reshape", {"real", "typed"}, {"y"});
  model.output("y");
  const Tensor y = model.run({{"x", tensor_of<uint8_t>(DType::u8, {2, 2}, {9, 10, 0, 255})}});
  EXPECT_EQ(y.shape, Shape{4});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 0.5f, -4.5f, 123}));
}

TEST(RawData, OfAFileThatIsCutOffIsRefused) {
  // The initializers stand last in the file, so that all else is whole.
  ModelBuilder model;
  model.input("x", onnx_type<uint8_t>(), {2, 2});
  model.constant<float>("scale", {}, {0.5f});
  model.node("DequantizeLinear", {"x", "scale"}, {"y"});
  model.output("y");
  onnx::ModelProto last;
  last.mutable_graph()->add_initializer()->CopyFrom(tensor_proto<uint8_t>("unused", {500}, std::vector<uint8_t>(500)));
  const std::string bytes = model.model().SerializeAsString() + last.SerializeAsString();
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.onnx";
  write_file(path, bytes);
  EXPECT_EQ(import_onnx(path, {}).outputs.size(), 1u);
  write_file(path, bytes.substr(0, bytes.size() - 1));
  EXPECT_THROW(import_onnx(path, {}), UsageError);
}

TEST(RawData, LengthsMustFitTheShape) {
  ModelBuilder model;
  model.input("x", onnx_type<uint8_t>(), {2, 2});
  model.constant<float>("scale", {3}, {0.5f, 1});
  model.node("DequantizeLinear", {"x", "scale"}, {"y"});
  model.output("y");
  EXPECT_THAT(model.refusal(), AllOf(HasSubstr("\"scale\""), HasSubstr("8 bytes")));
}

}  // namespace
}  // namespace warpwright
