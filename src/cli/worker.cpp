// warpwright worker: a process that compiles and measures for its parent; see measure/worker.h.
#include "measure/worker.h"

#include <unistd.h>

#include "src/cli/verb.h"

namespace warpwright {

VerbBody worker_verb(CLI::App&) {
  return [] { return run_worker(STDIN_FILENO, STDOUT_FILENO); };
}

}  // namespace warpwright
