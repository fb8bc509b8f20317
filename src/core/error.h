// Typed errors. Each says what, where and what to do; the command line maps the type to the exit status.
#pragma once

#include <stdexcept>
#include <string>

namespace warpwright {

/// Root of all errors thrown on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Wrong usage or bad input (model, package, database, CSV, flag): exit 2. The message names the node, row or flag.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The environment lacks something (driver, NVRTC, disk, permission): exit 3. The message says how to get it.
class EnvironmentError : public Error {
 public:
  using Error::Error;
};

/// A broken invariant of this program: exit 70. Never caused by input.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace warpwright
