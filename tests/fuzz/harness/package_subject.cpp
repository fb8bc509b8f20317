// Packages as a subject.
#include <fmt/core.h>

#include <fstream>
#include <map>

#include "src/compile/package_writer.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/device/device.h"
#include "src/graph/lowering.h"
#include "src/import/import.h"
#include "src/runtime/session.h"
#include "tests/fuzz/harness/model_mutation.h"
#include "tests/fuzz/harness/package_mutation.h"
#include "tests/fuzz/harness/subject.h"

namespace warpwright::testing {

namespace {

/// A card without memory: it holds no bytes but knows which addresses it gave out, and stops who goes beyond.
class AddressDevice : public Device {
 public:
  const Target& target() const override { return target_preset("rtx4090"); }
  Evidence evidence() const override { return Evidence::virtual_device; }
  std::string description() const override { return "addresses only"; }

  DeviceAddress allocate(int64_t bytes, std::string_view, bool) override {
    if (bytes < 0) throw InternalError("an allocation of negative size");
    if (bytes > kMemoryBytes - used_) throw OutOfDeviceMemory("the card is full");
    used_ += bytes;
    const DeviceAddress address = next_;
    next_ += static_cast<DeviceAddress>(bytes) + 4096;
    sizes_[address] = bytes;
    return address;
  }
  void free(DeviceAddress address) override {
    if (sizes_.erase(address) != 1) throw InternalError("freed what was not allocated");
  }
  void upload(DeviceAddress to, std::span<const std::byte> bytes) override {
    expect_inside(to, bytes.size());
    for (std::byte each : bytes) sum_ = sum_ + std::to_integer<uint8_t>(each);  // every byte is looked at
  }
  void download(std::span<std::byte> to, DeviceAddress from) override {
    expect_inside(from, to.size());
    std::fill(to.begin(), to.end(), std::byte{0});
  }
  void begin_life(DeviceAddress address, int64_t bytes) override { expect_inside(address, static_cast<size_t>(bytes)); }

  DeviceKernel load(const CompiledKernel&) override { return {0}; }
  Outcome launch(const Launch& launch) override {
    for (const BoundArgument& argument : launch.arguments) {
      if (argument.size != 8) continue;
      DeviceAddress address = 0;
      std::memcpy(&address, argument.bytes.data(), sizeof address);
      expect_inside(address, 1);
    }
    return {OutcomeKind::ok, "", "", {}, ""};
  }
  Outcome time(const Launch& launch, const TimingOptions&) override { return this->launch(launch); }
  Outcome time_sequence(std::span<const Launch>, const TimingOptions&) override {
    return {OutcomeKind::ok, "", "", {}, ""};
  }

 private:
  static constexpr int64_t kMemoryBytes = int64_t{24} << 30;

  void expect_inside(DeviceAddress address, size_t bytes) const {
    auto found = sizes_.upper_bound(address);
    if (found == sizes_.begin()) throw InternalError("an address that was not allocated");
    --found;
    const auto size = static_cast<size_t>(found->second), offset = static_cast<size_t>(address - found->first);
    if (offset > size || bytes > size - offset) throw InternalError("an access beyond its allocation");
  }

  std::map<DeviceAddress, int64_t> sizes_;
  DeviceAddress next_ = 4096;
  int64_t used_ = 0;
  uint64_t sum_ = 0;
};

/// The package of a small model whose kernels' code is made up: nothing here runs.
std::string made_up_package(const std::string& model, const ShapeBindings& shapes) {
  const Program program = lower(import_onnx(std::string(WARPWRIGHT_SOURCE_DIR "/tests/data/") + model, shapes));
  const BuildTarget target = build_target("rtx4090");
  const BestHistory defaults(nullptr, target, EvidencePolicy::prefer);
  Plan plan = make_plan(program, target, [&](const Task& task) { return defaults.choose(task); });
  for (PlannedKernel& kernel : plan.kernels) {
    kernel.code.entry = kernel.source.entry;
    kernel.code.arch = target.target.arch();
    kernel.code.ptx = "// ptx of " + kernel.task.key;
    kernel.code.cubin = "cubin of " + kernel.task.key;
    kernel.code.compiler = "none";
    kernel.hashes.cubin = "c-" + kernel.task.key;
  }
  const Package package = make_package(program, plan);
  const TemporaryFolder folder("warpwright-fuzz");
  write_package(folder.path() / "a.pkg", std::span(&package, 1), manifest_of(plan, "digest"));
  return read_file(folder.path() / "a.pkg");
}

class PackageSubject : public Subject {
 public:
  std::string_view name() const override { return "package"; }
  std::string file_name() const override { return "model.pkg"; }

  void write_mutant(uint64_t seed, const std::filesystem::path& path) const override {
    Draw draw(seed);
    std::string bytes = seeds_[static_cast<size_t>(draw.between(0, std::ssize(seeds_) - 1))];
    const bool by_rows = draw.chance(80);
    for (int64_t changes = by_rows ? 0 : draw.between(1, 4); changes > 0; --changes) mutate_bytes(bytes, draw);
    std::ofstream(path, std::ios::binary) << bytes;
    if (by_rows) mutate_rows(path, draw);
  }

  void read(const std::filesystem::path& path) const override {
    const PackageFile file(path);
    file.cubin_hashes(key(file.variant_for(target_preset("rtx4090")).target));
    for (const auto& variant : file.variants()) {
      const Package package = file.load(variant);
      AddressDevice device;
      Session session(package, device);
      TensorMap inputs;
      int64_t bytes = 0;
      for (const ProgramPort& port : package.program.inputs) {
        bytes += package.program.tensors[static_cast<size_t>(port.tensor)].form.buffer_bytes();
        if (bytes <= kMostInputBytes) inputs[port.name] = Tensor(port.dtype, port.shape);
      }
      if (bytes <= kMostInputBytes) session.run(inputs);
    }
  }

 private:
  static constexpr int64_t kMostInputBytes = 1 << 20;

  const std::vector<std::string> seeds_{made_up_package("models/digits_qat/model.onnx", {{"image", {2, 1, 8, 8}}}),
                                        made_up_package("cases/conv_depthwise/model.onnx", {}),
                                        made_up_package("cases/block_squeeze_excite/model.onnx", {})};
};

}  // namespace

std::unique_ptr<Subject> package_subject() { return std::make_unique<PackageSubject>(); }

}  // namespace warpwright::testing
