// Reads package files. Nothing in the file is believed: identity, schema, digest and the hash of each blob are checked
// here, what the rows mean in package_check.cpp.
#include "src/runtime/package.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "src/core/json_fields.h"
#include "src/core/json_text.h"
#include "src/runtime/package_format.h"

namespace warpwright {
namespace {

/// Offset of the application id in the header of an SQLite file.
constexpr size_t kApplicationIdOffset = 68;

std::string file_header(const std::filesystem::path& path) {
  std::error_code error;  // what is no regular file might be waited for
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::string header(100, '\0');
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(header.data(), static_cast<std::streamsize>(header.size()))) return {};
  return header;
}

int64_t big_endian_32(const std::string& bytes, size_t offset) {
  int64_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value * 256 + static_cast<unsigned char>(bytes[offset + i]);
  return value;
}

Shape shape_from_json(const Json& json) {
  if (!json.is_array() || json.size() > 8) throw UsageError("a shape is no list of at most 8 extents");
  Shape shape;
  for (const Json& extent : json) {
    if (!extent.is_number_integer()) throw UsageError("a shape holds something else than integers");
    shape.push_back(extent.get<int64_t>());
  }
  element_count(shape);
  return shape;
}

std::vector<std::string> strings_from_json(const Json& json) {
  if (!json.is_array()) throw UsageError("a list of names is no list");
  std::vector<std::string> strings;
  for (const Json& item : json) {
    if (!item.is_string()) throw UsageError("a list of names holds something else");
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

std::vector<int> indices_from_json(const Json& json, size_t count) {
  if (!json.is_array()) throw UsageError("a list of indices is no list");
  std::vector<int> indices;
  for (const Json& item : json) {
    if (!item.is_number_integer() || item.get<int64_t>() < 0 || item.get<int64_t>() >= static_cast<int64_t>(count)) {
      throw UsageError("an index is out of range");
    }
    indices.push_back(item.get<int>());
  }
  return indices;
}

int small_integer(const SqliteStatement& row, int column, int64_t least, int64_t most) {
  const int64_t value = row.integer(column);
  if (value < least || value > most) throw UsageError(fmt::format("value {} is out of range", value));
  return static_cast<int>(value);
}

/// Runs `read`; what it refuses is said to be a damaged package, with the path and the part.
template <typename Read>
auto in_part(const std::filesystem::path& path, std::string_view part, const Read& read) {
  try {
    return read();
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: damaged package, {}: {}", path.string(), part, error.what()));
  } catch (const InternalError& error) {
    throw UsageError(fmt::format("{}: damaged package, {}: {}", path.string(), part, error.what()));
  } catch (const Json::exception& error) {
    throw UsageError(fmt::format("{}: damaged package, {}: {}", path.string(), part, reason_of(error)));
  }
}

const std::filesystem::path& checked_identity(const std::filesystem::path& path) {
  require_regular(path);
  if (file_kind(path) == FileKind::none) throw UsageError(fmt::format("{}: no such file", path.string()));
  const std::string header = file_header(path);
  if (header.empty() || header.compare(0, 16, std::string("SQLite format 3\0", 16)) != 0 ||
      big_endian_32(header, kApplicationIdOffset) != kPackageApplicationId) {
    throw UsageError(fmt::format("{}: no package (`warpwright build` makes one)", path.string()));
  }
  return path;
}

}  // namespace

struct PackageFile::Reading {
  explicit Reading(const std::filesystem::path& path_)
      : path(checked_identity(path_)), file(path_, SqliteFile::Mode::read) {}

  void check_version_and_schema();
  std::string blob(const std::string& hash);
  Tensor tensor(const std::string& dtype, const std::string& shape, const std::string& hash);
  Program program(int64_t profile);
  void read_steps(int64_t profile, Program& program);
  std::vector<ProgramPort> ports(int64_t profile, std::string_view direction);
  std::vector<PackageKernel> kernels(int64_t plan, std::map<int64_t, size_t>& positions);
  std::vector<PackageStep> steps(int64_t plan, const std::map<int64_t, size_t>& kernels, const Package& package);

  std::filesystem::path path;
  SqliteFile file;
};

void PackageFile::Reading::check_version_and_schema() {
  const int64_t version = file.integer("PRAGMA user_version");
  if (version != kPackageVersion) {
    throw UsageError(
        fmt::format("{}: package format {}, this program reads format {}; build it again, or use a newer "
                    "warpwright",
                    path.string(), version, kPackageVersion));
  }
  std::set<std::string> found, expected;
  SqliteStatement rows(file, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL");
  while (rows.step()) found.insert(rows.text(0));
  for (const PackageTable& table : package_tables()) expected.insert(table.create);
  if (found != expected) throw UsageError(path.string() + ": damaged package, its tables are not those of format 1");
}

std::string PackageFile::Reading::blob(const std::string& hash) {
  SqliteStatement row(file, "SELECT bytes FROM blobs WHERE hash = ?");
  row.bind(0, hash);
  if (!row.step()) throw UsageError("blob " + hash + " is missing");
  std::string bytes = row.blob(0);
  if (sha256_hex(bytes) != hash) throw UsageError("blob " + hash + " does not have its hash");
  return bytes;
}

Tensor PackageFile::Reading::tensor(const std::string& dtype, const std::string& shape, const std::string& hash) {
  Tensor tensor;
  tensor.dtype = dtype_from_name(dtype);
  tensor.shape = shape_from_json(parse_json(shape));
  const std::string bytes = blob(hash);
  int64_t expected = 0;
  if (__builtin_mul_overflow(element_count(tensor.shape), static_cast<int64_t>(size_bytes(tensor.dtype)), &expected) ||
      expected != static_cast<int64_t>(bytes.size())) {
    throw UsageError(fmt::format("blob {} has {} bytes, its shape needs {}", hash, bytes.size(), expected));
  }
  tensor.bytes.resize(bytes.size());
  if (!bytes.empty()) std::memcpy(tensor.bytes.data(), bytes.data(), bytes.size());
  return tensor;
}

Program PackageFile::Reading::program(int64_t profile) {
  Program program;
  SqliteStatement size(file, "SELECT arena_bytes FROM profiles WHERE id = ?");
  size.bind(0, profile);
  if (!size.step()) throw UsageError("the profile is missing");
  program.arena_bytes = size.integer(0);
  SqliteStatement rows(file,
                       "SELECT id, name, dtype, layout, n, h, w, c, pixel_stride, channel_offset, arena_offset, "
                       "first_step, last_step FROM tensors WHERE profile = ? ORDER BY id");
  rows.bind(0, profile);
  while (rows.step()) {
    if (rows.integer(0) != static_cast<int64_t>(program.tensors.size())) throw UsageError("a tensor is missing");
    ProgramTensor tensor;
    tensor.name = rows.text(1);
    tensor.form.dtype = dtype_from_name(rows.text(2));
    if (rows.text(3) != "nchw" && rows.text(3) != "nhwc") throw UsageError("unknown layout " + rows.text(3));
    tensor.form.layout = rows.text(3) == "nchw" ? Layout::nchw : Layout::nhwc;
    tensor.form.n = rows.integer(4), tensor.form.h = rows.integer(5);
    tensor.form.w = rows.integer(6), tensor.form.c = rows.integer(7);
    tensor.form.pixel_stride = rows.integer(8), tensor.form.channel_offset = rows.integer(9);
    tensor.arena_offset = rows.integer(10);
    tensor.first_step = small_integer(rows, 11, -1, 1 << 24);
    tensor.last_step = small_integer(rows, 12, -1, 1 << 24);
    program.tensors.push_back(std::move(tensor));
  }
  program.inputs = ports(profile, "input");
  program.outputs = ports(profile, "output");
  read_steps(profile, program);
  return program;
}

std::vector<ProgramPort> PackageFile::Reading::ports(int64_t profile, std::string_view direction) {
  std::vector<ProgramPort> ports;
  SqliteStatement rows(file,
                       "SELECT name, dtype, shape, tensor FROM ports WHERE profile = ? AND direction = ? "
                       "ORDER BY position");
  rows.bind(0, profile).bind(1, direction);
  while (rows.step()) {
    ports.push_back({rows.text(0), shape_from_json(parse_json(rows.text(2))), dtype_from_name(rows.text(1)),
                     small_integer(rows, 3, 0, 1 << 24)});
  }
  return ports;
}

void PackageFile::Reading::read_steps(int64_t profile, Program& program) {
  SqliteStatement rows(file,
                       "SELECT id, workload, inputs, output, onnx_nodes FROM steps WHERE profile = ? ORDER BY id");
  rows.bind(0, profile);
  while (rows.step()) {
    if (rows.integer(0) != static_cast<int64_t>(program.steps.size())) throw UsageError("a step is missing");
    ProgramStep step;
    step.workload = workload_from_json(parse_json(rows.text(1)));
    step.inputs = indices_from_json(parse_json(rows.text(2)), program.tensors.size());
    step.output = indices_from_json(Json::array({rows.integer(3)}), program.tensors.size()).front();
    step.onnx_nodes = strings_from_json(parse_json(rows.text(4)));
    program.steps.push_back(std::move(step));
  }
  SqliteStatement values(file,
                         "SELECT step, name, dtype, shape, hash FROM step_values WHERE profile = ? "
                         "ORDER BY step, name");
  values.bind(0, profile);
  while (values.step()) {
    const int step = small_integer(values, 0, 0, static_cast<int64_t>(program.steps.size()) - 1);
    program.steps[static_cast<size_t>(step)].values[values.text(1)] =
        tensor(values.text(2), values.text(3), values.text(4));
  }
}

std::vector<PackageKernel> PackageFile::Reading::kernels(int64_t plan, std::map<int64_t, size_t>& positions) {
  std::vector<PackageKernel> kernels;
  SqliteStatement rows(file,
                       "SELECT id, entry, arch, source_hash, ptx_hash, cubin_hash, launch, arguments, registers, "
                       "spill_store_bytes, spill_load_bytes, static_smem_bytes, local_bytes, compiler FROM kernels "
                       "WHERE id IN (SELECT kernel FROM plan_steps WHERE plan = ?) ORDER BY id");
  rows.bind(0, plan);
  while (rows.step()) {
    positions[rows.integer(0)] = kernels.size();
    PackageKernel kernel;
    kernel.code.entry = rows.text(1);
    kernel.code.arch = rows.text(2);
    kernel.source = blob(rows.text(3));
    kernel.code.ptx = blob(rows.text(4));
    kernel.code.cubin = blob(rows.text(5));
    kernel.launch = launch_shape_from_json(parse_json(rows.text(6)));
    kernel.arguments = arguments_from_json(parse_json(rows.text(7)));
    kernel.code.registers = small_integer(rows, 8, 0, 255);
    kernel.code.spill_store_bytes = small_integer(rows, 9, 0, 1 << 30);
    kernel.code.spill_load_bytes = small_integer(rows, 10, 0, 1 << 30);
    kernel.code.static_smem_bytes = small_integer(rows, 11, 0, 1 << 20);
    kernel.code.local_bytes = small_integer(rows, 12, 0, 1 << 30);
    kernel.code.compiler = rows.text(13);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::vector<PackageStep> PackageFile::Reading::steps(int64_t plan, const std::map<int64_t, size_t>& kernels,
                                                     const Package& package) {
  std::vector<PackageStep> steps;
  SqliteStatement rows(file,
                       "SELECT step, kernel, config, rung, evidence FROM plan_steps WHERE plan = ? ORDER BY step");
  rows.bind(0, plan);
  while (rows.step()) {
    if (rows.integer(0) != static_cast<int64_t>(steps.size())) throw UsageError("a step of the plan is missing");
    PackageStep step;
    const auto kernel = kernels.find(rows.integer(1));
    if (kernel == kernels.end()) throw UsageError("a kernel is missing");
    step.kernel = kernel->second;
    step.config = config_from_json(parse_json(rows.text(2)));
    step.rung = rows.text(3);
    if (const std::string evidence = rows.text(4); !evidence.empty()) step.evidence = evidence_from_name(evidence);
    step.packed.resize(package.kernels[step.kernel].arguments.size());
    steps.push_back(std::move(step));
  }
  SqliteStatement packed(file, "SELECT step, argument, dtype, shape, hash FROM packings WHERE plan = ?");
  packed.bind(0, plan);
  while (packed.step()) {
    const int step = small_integer(packed, 0, 0, static_cast<int64_t>(steps.size()) - 1);
    std::vector<Tensor>& arguments = steps[static_cast<size_t>(step)].packed;
    const int argument = small_integer(packed, 1, 0, static_cast<int64_t>(arguments.size()) - 1);
    arguments[static_cast<size_t>(argument)] = tensor(packed.text(2), packed.text(3), packed.text(4));
  }
  return steps;
}

PackageFile::PackageFile(const std::filesystem::path& path) : reading_(std::make_unique<Reading>(path)) {
  reading_->check_version_and_schema();
  in_part(path, "manifest", [&] {
    SqliteStatement digest(reading_->file, "SELECT sha256 FROM digest");
    if (!digest.step()) throw UsageError("the digest is missing");
    digest_ = digest.text(0);
    if (package_digest(reading_->file) != digest_) throw UsageError("its content does not have its digest");
    SqliteStatement manifest(reading_->file, "SELECT json FROM manifest");
    if (!manifest.step()) throw UsageError("the manifest is missing");
    manifest_ = parse_json(manifest.text(0));
  });
  in_part(path, "targets", [&] {
    SqliteStatement rows(reading_->file,
                         "SELECT plans.id, plans.profile, targets.json FROM plans JOIN targets ON "
                         "targets.id = plans.target ORDER BY plans.id");
    while (rows.step()) {
      Variant variant{rows.integer(0), target_from_json(parse_json(rows.text(2))), {}};
      for (const ProgramPort& port : reading_->ports(rows.integer(1), "input")) {
        variant.input_shapes[port.name] = port.shape;
      }
      variants_.push_back(std::move(variant));
    }
    if (variants_.empty()) throw UsageError("there is no plan");
  });
}

PackageFile::~PackageFile() = default;

Package PackageFile::load(const Variant& variant) const {
  return in_part(reading_->path, fmt::format("plan {}", variant.id), [&] {
    Package package;
    package.target = variant.target;
    package.manifest = manifest_;
    SqliteStatement plan(reading_->file, "SELECT profile FROM plans WHERE id = ?");
    plan.bind(0, variant.id);
    if (!plan.step()) throw UsageError("the plan is missing");
    package.program = reading_->program(plan.integer(0));
    std::map<int64_t, size_t> positions;
    package.kernels = reading_->kernels(variant.id, positions);
    package.steps = reading_->steps(variant.id, positions, package);
    check(package);
    return package;
  });
}

std::map<std::string, std::string> PackageFile::cubin_hashes(const std::string& target_key) const {
  std::map<std::string, std::string> hashes;
  SqliteStatement rows(reading_->file,
                       "SELECT steps.workload_key, kernels.cubin_hash FROM plan_steps "
                       "JOIN plans ON plans.id = plan_steps.plan JOIN targets ON targets.id = plans.target "
                       "JOIN steps ON steps.profile = plans.profile AND steps.id = plan_steps.step "
                       "JOIN kernels ON kernels.id = plan_steps.kernel WHERE targets.key = ?");
  rows.bind(0, target_key);
  while (rows.step()) hashes[rows.text(0)] = rows.text(1);
  return hashes;
}

const PackageFile::Variant& PackageFile::variant_for(const Target& target) const {
  const auto same = [&](auto quality) {
    return std::find_if(variants_.begin(), variants_.end(), [&](const Variant& v) { return quality(v.target); });
  };
  auto found = same([&](const Target& built) { return key(built) == key(target); });
  if (found == variants_.end()) found = same([&](const Target& built) { return built.arch() == target.arch(); });
  if (found == variants_.end()) {
    found = same([&](const Target& built) { return built.compute_capability() <= target.compute_capability(); });
  }
  return found == variants_.end() ? variants_.front() : *found;
}

bool is_package(const std::filesystem::path& path) {
  const std::string header = file_header(path);
  return !header.empty() && header.compare(0, 16, std::string("SQLite format 3\0", 16)) == 0 &&
         big_endian_32(header, kApplicationIdOffset) == kPackageApplicationId;
}

}  // namespace warpwright
