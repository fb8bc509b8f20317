/* C interface of the runtime: open a package on a device and run it. Nothing but the driver is needed.
 *
 * Functions give 0 when done, else the exit status that the command line would have (1 fault of a kernel, 2 wrong use
 * or input, 3 the environment lacks something, 70 a fault of the runtime), and warpwright_error_text() says what.
 * A session is used by one thread at a time; different sessions are independent. */
#ifndef WARPWRIGHT_RUNTIME_H
#define WARPWRIGHT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct warpwright_package warpwright_package;
typedef struct warpwright_session warpwright_session;

/* WARPWRIGHT_BOOLEAN: a byte, 0 or 1; WARPWRIGHT_F16: IEEE binary16 */
typedef enum warpwright_dtype {
  WARPWRIGHT_S8,
  WARPWRIGHT_U8,
  WARPWRIGHT_S32,
  WARPWRIGHT_F32,
  WARPWRIGHT_S64,
  WARPWRIGHT_BOOLEAN,
  WARPWRIGHT_F16
} warpwright_dtype;

/* An input or output. Row-major, in the shape of the ONNX model. `name` and `shape` live as long as their package. */
typedef struct warpwright_port {
  const char* name;
  warpwright_dtype dtype;
  size_t rank;
  const int64_t* shape;
  size_t bytes;
} warpwright_port;

/* Text of the last failure on this thread; never null. */
const char* warpwright_error_text(void);

/* `device`: `cuda:0`, `virtual:rtx4090`, ...; it chooses among the variants in the file. The device is opened by the
 * session. */
int warpwright_open(const char* package_path, const char* device, warpwright_package** package);
/* Sessions of the package must be closed before. Null is allowed. */
void warpwright_close(warpwright_package* package);

size_t warpwright_input_count(const warpwright_package* package);
size_t warpwright_output_count(const warpwright_package* package);
int warpwright_input(const warpwright_package* package, size_t index, warpwright_port* port);
int warpwright_output(const warpwright_package* package, size_t index, warpwright_port* port);

int warpwright_session_open(warpwright_package* package, warpwright_session** session);
void warpwright_session_close(warpwright_session* session);

/* Host memory, one pointer a port in the order of the ports, each of `bytes` bytes: one batch. */
int warpwright_run(warpwright_session* session, const void* const* inputs, void* const* outputs);

#ifdef __cplusplus
}
#endif

#endif
