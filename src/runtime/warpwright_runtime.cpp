// The C interface over Package and Session: no exception crosses it.
#include "src/runtime/warpwright_runtime.h"

#include <cstring>
#include <new>

#include "src/core/error.h"
#include "src/runtime/session.h"

using warpwright::DType;
using warpwright::ProgramPort;
using warpwright::Tensor;
using warpwright::TensorMap;

struct warpwright_package {
  std::string device;
  warpwright::Package content;
};

struct warpwright_session {
  warpwright_session(const warpwright_package& package)
      : content(package.content), device(warpwright::open_device(package.device)), session(content, *device) {}

  const warpwright::Package& content;
  std::unique_ptr<warpwright::Device> device;
  warpwright::Session session;
};

namespace {

thread_local std::string error_text;

template <typename Action>
int guarded(const Action& action) {
  try {
    action();
    error_text.clear();
    return 0;
  } catch (const warpwright::LaunchFault& error) {
    error_text = error.what();
    return 1;
  } catch (const warpwright::UsageError& error) {
    error_text = error.what();
    return 2;
  } catch (const warpwright::EnvironmentError& error) {
    error_text = error.what();
    return 3;
  } catch (const std::exception& error) {
    error_text = error.what();
    return 70;
  }
}

void require(const void* pointer, const char* what) {
  if (!pointer) throw warpwright::UsageError(std::string(what) + " is null");
}

warpwright_dtype dtype_of(DType dtype) {
  switch (dtype) {
    case DType::s8:
      return WARPWRIGHT_S8;
    case DType::u8:
      return WARPWRIGHT_U8;
    case DType::s32:
      return WARPWRIGHT_S32;
    case DType::f32:
      return WARPWRIGHT_F32;
    case DType::s64:
      return WARPWRIGHT_S64;
    case DType::boolean:
      return WARPWRIGHT_BOOLEAN;
    case DType::f16:
      return WARPWRIGHT_F16;
  }
  throw warpwright::InternalError("unknown element type");
}

size_t bytes_of(const ProgramPort& port) {
  return static_cast<size_t>(warpwright::element_count(port.shape)) * warpwright::size_bytes(port.dtype);
}

int describe(const std::vector<ProgramPort>& ports, size_t index, warpwright_port* port) {
  return guarded([&] {
    require(port, "port");
    if (index >= ports.size()) throw warpwright::UsageError("the port's index is out of range");
    const ProgramPort& from = ports[index];
    *port = {from.name.c_str(), dtype_of(from.dtype), from.shape.size(), from.shape.data(), bytes_of(from)};
  });
}

}  // namespace

const char* warpwright_error_text(void) { return error_text.c_str(); }

int warpwright_open(const char* package_path, const char* device, warpwright_package** package) {
  return guarded([&] {
    require(package_path, "package_path");
    require(device, "device");
    require(package, "package");
    const warpwright::PackageFile file(package_path);
    const auto& variant = file.variant_for(warpwright::target_of_device(device));
    *package = new warpwright_package{device, file.load(variant)};
  });
}

void warpwright_close(warpwright_package* package) { delete package; }

size_t warpwright_input_count(const warpwright_package* package) {
  return package ? package->content.program.inputs.size() : 0;
}

size_t warpwright_output_count(const warpwright_package* package) {
  return package ? package->content.program.outputs.size() : 0;
}

int warpwright_input(const warpwright_package* package, size_t index, warpwright_port* port) {
  return package ? describe(package->content.program.inputs, index, port) : describe({}, index, port);
}

int warpwright_output(const warpwright_package* package, size_t index, warpwright_port* port) {
  return package ? describe(package->content.program.outputs, index, port) : describe({}, index, port);
}

int warpwright_session_open(warpwright_package* package, warpwright_session** session) {
  return guarded([&] {
    require(package, "package");
    require(session, "session");
    *session = new warpwright_session(*package);
  });
}

void warpwright_session_close(warpwright_session* session) { delete session; }

int warpwright_run(warpwright_session* session, const void* const* inputs, void* const* outputs) {
  return guarded([&] {
    require(session, "session");
    require(inputs, "inputs");
    require(outputs, "outputs");
    const warpwright::Program& program = session->content.program;
    TensorMap tensors;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      require(inputs[i], "an input");
      Tensor tensor(program.inputs[i].dtype, program.inputs[i].shape);
      if (!tensor.bytes.empty()) std::memcpy(tensor.bytes.data(), inputs[i], tensor.bytes.size());
      tensors.emplace(program.inputs[i].name, std::move(tensor));
    }
    for (size_t i = 0; i < program.outputs.size(); ++i) require(outputs[i], "an output");
    const TensorMap results = session->session.run(tensors);
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      const Tensor& result = results.at(program.outputs[i].name);
      if (!result.bytes.empty()) std::memcpy(outputs[i], result.bytes.data(), result.bytes.size());
    }
  });
}
