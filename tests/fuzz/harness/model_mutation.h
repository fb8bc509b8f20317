// Mutation of ONNX models: by reflection over their messages, of their graph, and of the bytes of the file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "tests/search_space/random/draw.h"

namespace warpwright::testing {

/// What mutants are made of and take parts from.
class SeedModels {
 public:
  explicit SeedModels(std::vector<onnx::ModelProto> models);
  const onnx::ModelProto& any(Draw& draw) const;
  /// A message of this type from anywhere in the models, or null.
  const google::protobuf::Message* any_message(const google::protobuf::Descriptor* type, Draw& draw) const;

 private:
  std::vector<onnx::ModelProto> models_;
  std::map<const google::protobuf::Descriptor*, std::vector<const google::protobuf::Message*>> messages_;
};

/// Changes any field of any message of the model: another value, gone, twice, swapped, or one from another seed.
void mutate_messages(onnx::ModelProto& model, const SeedModels& seeds, Draw& draw);

/// Changes what the graph means: wires, operators, shapes and contents of tensors, external data, opsets.
void mutate_graph(onnx::ModelProto& model, const SeedModels& seeds, Draw& draw);

/// Cuts off, flips, repeats, drops or fills bytes.
void mutate_bytes(std::string& bytes, Draw& draw);

/// An integer that readers seldom meet.
int64_t odd_integer(Draw& draw);

/// The file that external tensors of mutants refer to, and its size.
inline constexpr const char* kExternalFile = "weights.bin";
inline constexpr int64_t kExternalBytes = 4096;

}  // namespace warpwright::testing
