// DatabaseTest: databases in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "database/database.h"
#include "src/core/file.h"

namespace warpwright {

class DatabaseTest : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& name = "a.db") const { return folder_.path() / name; }
  std::unique_ptr<Database> write(const std::string& name = "a.db") const {
    return open_database(file(name), OpenMode::read_write);
  }
  std::unique_ptr<Database> read(const std::string& name = "a.db") const {
    return open_database(file(name), OpenMode::read_only);
  }

 private:
  TemporaryFolder folder_;
};

inline std::vector<std::string> keys_of(const std::vector<Record>& records) {
  std::vector<std::string> keys;
  for (const Record& record : records) keys.push_back(record.content_key);
  return keys;
}

}  // namespace warpwright
