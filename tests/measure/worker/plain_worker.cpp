// The worker as the product runs it: NVRTC and the devices of --device.
#include <unistd.h>

#include "measure/worker.h"

int main() { return warpwright::run_worker(STDIN_FILENO, STDOUT_FILENO); }
