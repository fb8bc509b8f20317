// The databases that a build looks into: one that cannot be used is left out, with a warning.
#pragma once

#include <memory>
#include <vector>

#include "database/database.h"
#include "src/cli/arguments.h"

namespace warpwright {

class BuildDatabases {
 public:
  /// Throws UsageError for a file that is missing: that is no damage, but a name that was not meant. Files are only
  /// read.
  explicit BuildDatabases(Paths paths);

  /// All that can be used, as if merged; null when there is none.
  const Database* get() const { return database_.get(); }
  /// After an error while they were read: leaves out those that are damaged inside. False when none is, so that the
  /// error came from something else.
  bool drop_damaged();

 private:
  void open();

  Paths paths_;  // of those in use
  std::unique_ptr<Database> database_;
};

}  // namespace warpwright
