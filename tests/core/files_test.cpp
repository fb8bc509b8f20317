// Files and .npy: round trips, and what a stranger's file may not do.
#include <gtest/gtest.h>

#include <fstream>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/npy.h"

namespace warpwright {
namespace {

namespace fs = std::filesystem;

size_t entries(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
}

TEST(File, write_replaces_whole_files_and_leaves_nothing_else) {
  TemporaryFolder folder;
  write_file(folder.path() / "a", "one");
  write_file(folder.path() / "a", std::string("two\0three", 9));
  EXPECT_EQ(read_file(folder.path() / "a"), std::string("two\0three", 9));
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(File, errors_name_the_path) {
  TemporaryFolder folder;
  const fs::path missing = folder.path() / "no" / "file";
  for (auto call : {+[](const fs::path& p) { read_file(p); }, +[](const fs::path& p) { write_file(p, "x"); }}) {
    try {
      call(missing);
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(missing.string()), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(read_file(folder.path()), UsageError);
  write_file(folder.path() / "big", std::string(100, 'x'));
  EXPECT_THROW(read_file(folder.path() / "big", 99), UsageError);
}

TEST(File, failed_write_leaves_the_old_file_and_no_other) {
  TemporaryFolder folder;
  fs::create_directory(folder.path() / "target");
  write_file(folder.path() / "target" / "inside", "x");
  EXPECT_THROW(write_file(folder.path() / "target", "x"), EnvironmentError);
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(File, temporary_folders_vanish) {
  fs::path path;
  {
    TemporaryFolder folder;
    path = folder.path();
    write_file(path / "x", "y");
    EXPECT_EQ(fs::status(path).permissions() & fs::perms::mask, fs::perms::owner_all);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Npy, round_trips_every_type_and_rank) {
  TemporaryFolder folder;
  for (DType dtype : {DType::s8, DType::u8, DType::s32, DType::f32, DType::s64, DType::boolean}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}, Shape{1, 2, 3, 4}}) {
      Tensor tensor(dtype, shape);
      for (size_t i = 0; i < tensor.bytes.size(); ++i)
        tensor.bytes[i] = static_cast<std::byte>(dtype == DType::boolean ? i % 2 : i * 37);
      write_npy(folder.path() / "t.npy", tensor);
      EXPECT_EQ(read_npy(folder.path() / "t.npy"), tensor);
    }
  }
}

TEST(Npy, bad_files_are_refused_by_name) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "t.npy";
  auto refused = [&](const std::string& bytes) {
    write_file(path, bytes);
    EXPECT_THROW(read_npy(path), UsageError);
  };
  Tensor tensor(DType::f32, {4, 4});
  write_npy(path, tensor);
  const std::string good = read_file(path);
  for (size_t length = 0; length < good.size(); length += 3) refused(good.substr(0, length));
  refused(good + "x");
  auto with = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    bytes.replace(bytes.find(from), from.size(), to);
    return bytes;
  };
  refused(with("<f4", ">f4"));
  refused(with("<f4", "<f8"));
  write_npy(path, Tensor(DType::boolean, {4}));
  std::string flags = read_file(path);
  flags.back() = 2;
  refused(flags);
  refused(with("False", "True "));
  refused(with("(4,4)", "(4,9)"));
  refused(with("(4,4)", "(-4,)"));
  refused(with("'shape'", "'shapf'"));
}

}  // namespace
}  // namespace warpwright
