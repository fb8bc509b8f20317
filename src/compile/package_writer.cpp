// Writes package files: rows in a fixed order, blobs sorted by hash, so that equal content gives equal bytes.
#include "src/compile/package_writer.h"

#include <fmt/core.h>
#include <unistd.h>

#include <map>
#include <system_error>

#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "src/runtime/package_format.h"

namespace warpwright {
namespace {

std::string_view view(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Json shape_json(const Shape& shape) { return Json(shape); }

class Writing {
 public:
  explicit Writing(const std::filesystem::path& path) : file_(path, SqliteFile::Mode::create) {
    file_.execute("PRAGMA page_size=4096; PRAGMA journal_mode=OFF;");
    file_.execute(
        fmt::format("PRAGMA application_id={}; PRAGMA user_version={};", kPackageApplicationId, kPackageVersion));
    file_.execute("BEGIN");
    for (const PackageTable& table : package_tables()) file_.execute(table.create);
  }

  void add(const Package& package);
  void finish(const Json& manifest);

 private:
  const std::string& blob(std::string_view bytes);
  int64_t profile_of(const Program& program);
  void add_tensors(int64_t profile, const Program& program);
  void add_ports(int64_t profile, std::string_view direction, const std::vector<ProgramPort>& ports,
                 const Program& program);
  void add_steps(int64_t profile, const Program& program);
  int64_t target_of(const Target& target);
  int64_t kernel_of(const PackageKernel& kernel);
  void add_packings(int64_t plan, const Package& package);

  SqliteFile file_;
  std::map<std::string, std::string> blobs_;  // by hash, in the order of the file
  std::map<std::string, int64_t> profiles_;   // by content
  std::map<std::string, int64_t> targets_;    // by key
  std::map<std::string, int64_t> kernels_;    // by content
  int64_t plans_ = 0;
};

const std::string& Writing::blob(std::string_view bytes) {
  return blobs_.try_emplace(sha256_hex(bytes), bytes).first->first;
}

/// Programs are the same profile when their inputs have the same shapes.
int64_t Writing::profile_of(const Program& program) {
  Json shapes = Json::object();
  for (const ProgramPort& port : program.inputs) shapes[port.name] = shape_json(port.shape);
  const auto [place, is_new] = profiles_.try_emplace(shapes.dump(), static_cast<int64_t>(profiles_.size()));
  const int64_t profile = place->second;
  if (!is_new) return profile;
  SqliteStatement(file_, "INSERT INTO profiles VALUES (?, ?)").bind(0, profile).bind(1, program.arena_bytes).run();
  add_tensors(profile, program);
  add_ports(profile, "input", program.inputs, program);
  add_ports(profile, "output", program.outputs, program);
  add_steps(profile, program);
  return profile;
}

void Writing::add_tensors(int64_t profile, const Program& program) {
  SqliteStatement row(file_, "INSERT INTO tensors VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (size_t id = 0; id < program.tensors.size(); ++id) {
    const ProgramTensor& tensor = program.tensors[id];
    const TensorForm& form = tensor.form;
    row.bind(0, profile).bind(1, static_cast<int64_t>(id)).bind(2, tensor.name).bind(3, name(form.dtype));
    row.bind(4, std::string_view(form.layout == Layout::nchw ? "nchw" : "nhwc"));
    row.bind(5, form.n).bind(6, form.h).bind(7, form.w).bind(8, form.c);
    row.bind(9, form.pixel_stride).bind(10, form.channel_offset).bind(11, tensor.arena_offset);
    row.bind(12, int64_t{tensor.first_step}).bind(13, int64_t{tensor.last_step}).run();
  }
}

void Writing::add_ports(int64_t profile, std::string_view direction, const std::vector<ProgramPort>& ports,
                        const Program& program) {
  SqliteStatement row(file_, "INSERT INTO ports VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  for (size_t position = 0; position < ports.size(); ++position) {
    const ProgramPort& port = ports[position];
    const TensorForm& form = program.tensors.at(static_cast<size_t>(port.tensor)).form;
    if (form.layout != Layout::nchw) throw InternalError("port " + port.name + " is not bound to a nchw tensor");
    row.bind(0, profile).bind(1, direction).bind(2, static_cast<int64_t>(position)).bind(3, port.name);
    row.bind(4, name(port.dtype)).bind(5, std::string_view("nchw")).bind(6, shape_json(port.shape).dump());
    row.bind(7, int64_t{port.tensor}).run();
  }
}

void Writing::add_steps(int64_t profile, const Program& program) {
  SqliteStatement row(file_, "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?)");
  SqliteStatement value(file_, "INSERT INTO step_values VALUES (?, ?, ?, ?, ?, ?)");
  for (size_t id = 0; id < program.steps.size(); ++id) {
    const ProgramStep& step = program.steps[id];
    row.bind(0, profile).bind(1, static_cast<int64_t>(id)).bind(2, key(step.workload));
    row.bind(3, to_json(step.workload).dump()).bind(4, Json(step.inputs).dump()).bind(5, int64_t{step.output});
    row.bind(6, Json(step.onnx_nodes).dump(-1, ' ', false, Json::error_handler_t::replace)).run();
    for (const auto& [value_name, tensor] : step.values) {
      value.bind(0, profile).bind(1, static_cast<int64_t>(id)).bind(2, value_name).bind(3, name(tensor.dtype));
      value.bind(4, shape_json(tensor.shape).dump()).bind(5, blob(view(tensor.bytes))).run();
    }
  }
}

int64_t Writing::target_of(const Target& target) {
  const auto [place, is_new] = targets_.try_emplace(key(target), static_cast<int64_t>(targets_.size()));
  if (is_new) {
    SqliteStatement(file_, "INSERT INTO targets VALUES (?, ?, ?)")
        .bind(0, place->second)
        .bind(1, key(target))
        .bind(2, to_json(target).dump())
        .run();
  }
  return place->second;
}

int64_t Writing::kernel_of(const PackageKernel& kernel) {
  const CompiledKernel& code = kernel.code;
  const std::string launch = to_json(kernel.launch).dump(), arguments = to_json(kernel.arguments).dump();
  const std::string content = fmt::format("{}\n{}\n{}\n{}", blob(code.cubin), code.entry, launch, arguments);
  const auto [place, is_new] = kernels_.try_emplace(content, static_cast<int64_t>(kernels_.size()));
  if (!is_new) return place->second;
  SqliteStatement row(file_, "INSERT INTO kernels VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  row.bind(0, place->second).bind(1, code.entry).bind(2, code.arch).bind(3, blob(kernel.source));
  row.bind(4, blob(code.ptx)).bind(5, blob(code.cubin)).bind(6, launch).bind(7, arguments);
  row.bind(8, int64_t{code.registers})
      .bind(9, int64_t{code.spill_store_bytes})
      .bind(10, int64_t{code.spill_load_bytes});
  row.bind(11, code.static_smem_bytes).bind(12, code.local_bytes).bind(13, code.compiler).run();
  return place->second;
}

void Writing::add_packings(int64_t plan, const Package& package) {
  SqliteStatement row(file_, "INSERT INTO packings VALUES (?, ?, ?, ?, ?, ?)");
  for (size_t step = 0; step < package.steps.size(); ++step) {
    const std::vector<KernelArgument>& arguments = package.kernels[package.steps[step].kernel].arguments;
    for (size_t i = 0; i < arguments.size(); ++i) {
      using Role = KernelArgument::Role;
      if (arguments[i].role != Role::constant && arguments[i].role != Role::scalar) continue;
      const Tensor& packed = package.steps[step].packed[i];
      row.bind(0, plan).bind(1, static_cast<int64_t>(step)).bind(2, static_cast<int64_t>(i));
      row.bind(3, name(packed.dtype)).bind(4, shape_json(packed.shape).dump()).bind(5, blob(view(packed.bytes))).run();
    }
  }
}

void Writing::add(const Package& package) {
  const int64_t plan = plans_++;
  const int64_t profile = profile_of(package.program);
  const int64_t target = target_of(package.target);
  SqliteStatement(file_, "INSERT INTO plans VALUES (?, ?, ?)").bind(0, plan).bind(1, profile).bind(2, target).run();
  SqliteStatement row(file_, "INSERT INTO plan_steps VALUES (?, ?, ?, ?, ?, ?)");
  for (size_t number = 0; number < package.steps.size(); ++number) {
    const PackageStep& step = package.steps[number];
    row.bind(0, plan).bind(1, static_cast<int64_t>(number)).bind(2, kernel_of(package.kernels[step.kernel]));
    row.bind(3, to_json(step.config).dump()).bind(4, step.rung);
    row.bind(5, step.evidence ? name(*step.evidence) : std::string_view()).run();
  }
  add_packings(plan, package);
}

void Writing::finish(const Json& manifest) {
  SqliteStatement row(file_, "INSERT INTO blobs VALUES (?, ?)");
  for (const auto& [hash, bytes] : blobs_) row.bind(0, hash).bind_blob(1, bytes).run();
  SqliteStatement(file_, "INSERT INTO manifest VALUES (?)").bind(0, manifest.dump()).run();
  SqliteStatement(file_, "INSERT INTO digest VALUES (?)").bind(0, package_digest(file_)).run();
  file_.execute("COMMIT");
}

Json hashes_json(const CodeHashes& hashes) {
  return {{"source", hashes.source}, {"ptx", hashes.ptx}, {"cubin", hashes.cubin}};
}

}  // namespace

Package make_package(const Program& program, const Plan& plan) {
  Package package{plan.target.target, program, {}, {}, {}};
  for (const PlannedKernel& kernel : plan.kernels) {
    package.kernels.push_back({kernel.source.source, kernel.code, kernel.source.launch, kernel.source.arguments});
  }
  for (size_t step = 0; step < program.steps.size(); ++step) {
    const PlannedKernel& kernel = plan.kernels[plan.kernel_of_step[step]];
    package.steps.push_back({plan.kernel_of_step[step], kernel.choice.config, std::string(name(kernel.choice.rung)),
                             kernel.choice.evidence,
                             pack_arguments(program.steps[step].workload, kernel.choice.config, kernel.source,
                                            program.steps[step].values)});
  }
  return package;
}

Json manifest_of(const Plan& plan, const std::string& model_digest) {
  Json kernels = Json::array();
  for (const PlannedKernel& kernel : plan.kernels) {
    const Choice& choice = kernel.choice;
    kernels.push_back({{"workload_key", kernel.task.key},
                       {"workload", kernel.task.workload.summary()},
                       {"steps", kernel.task.steps},
                       {"config", to_json(choice.config)},
                       {"rung", std::string(name(choice.rung))},
                       {"evidence", choice.evidence ? Json(std::string(name(*choice.evidence))) : Json()},
                       {"measured_on", choice.measured_on},
                       {"environment", choice.environment},
                       {"record", choice.record_key},
                       {"measured_workload", choice.measured_workload},
                       {"trials", choice.trials},
                       {"default_us", choice.default_us},
                       {"best_us", choice.best_us},
                       {"why", choice.why},
                       {"code", hashes_json(kernel.hashes)},
                       {"measured_code", hashes_json(choice.measured)},
                       {"compiler", kernel.code.compiler},
                       {"code_is", code_statement(kernel)}});
  }
  return {{"schema", "warpwright.package/1"},
          {"model_digest", model_digest},
          {"target", text(plan.target)},
          {"kernels", kernels}};
}

void write_package(const std::filesystem::path& path, std::span<const Package> packages, const Json& manifest) {
  const std::filesystem::path temporary = fmt::format("{}.partial-{}", path.string(), getpid());
  require_replaceable(path);
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  try {
    {
      Writing writing(temporary);
      for (const Package& package : packages) writing.add(package);
      writing.finish(manifest);
    }
    std::filesystem::rename(temporary, path);
  } catch (const std::filesystem::filesystem_error& error) {
    std::filesystem::remove(temporary, ignored);
    throw EnvironmentError(fmt::format("{}: {}", path.string(), error.code().message()));
  } catch (const EnvironmentError& error) {
    std::filesystem::remove(temporary, ignored);
    // The temporary name says nothing to the user.
    throw EnvironmentError(fmt::format("{}: cannot be written: {}", path.string(), error.what()));
  } catch (...) {
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

}  // namespace warpwright
