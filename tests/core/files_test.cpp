// Files and .npy: round trips, and what a stranger's file may not do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/named_lock.h"
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
  EXPECT_THROW(write_file(folder.path() / "target", "x"), UsageError);
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(File, only_regular_files_are_read_and_replaced) {
  TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe", link = folder.path() / "link", loop = folder.path() / "loop";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  write_file(folder.path() / "file", "x");
  fs::create_symlink(folder.path() / "file", link);
  fs::create_symlink(loop, loop);
  EXPECT_EQ(file_kind(pipe), FileKind::special);
  EXPECT_EQ(file_kind(link), FileKind::regular);
  EXPECT_EQ(file_kind(folder.path()), FileKind::folder);
  EXPECT_EQ(file_kind(folder.path() / "none"), FileKind::none);
  EXPECT_THROW(file_kind(loop), UsageError);
  EXPECT_THROW(file_kind(std::string(300, 'a')), UsageError);
  EXPECT_THROW(read_file(pipe), UsageError);  // does not wait
  EXPECT_EQ(read_file(link), "x");
  for (const fs::path& kept : {pipe, link, loop}) EXPECT_THROW(write_file(kept, "y"), UsageError);
  EXPECT_EQ(file_kind(pipe), FileKind::special);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(entries(folder.path()), 4u);
}

TEST(File, what_is_not_finished_leaves_nothing) {
  TemporaryFolder folder;
  {
    OutputFile file(folder.path() / "out");
    file.write(std::string(1 << 20, 'x'));
    EXPECT_EQ(entries(folder.path()), 1u);
  }
  EXPECT_EQ(entries(folder.path()), 0u);
  OutputFile file(folder.path() / "out");
  file.write("a");
  file.write(std::string(1 << 20, 'b'));
  file.write("c");
  file.finish();
  EXPECT_EQ(read_file(folder.path() / "out"), "a" + std::string(1 << 20, 'b') + "c");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(Lines, end_as_on_any_system_and_are_limited) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "lines";
  const std::string long_line(100'000, 'x');  // of more than one piece
  const auto lines = [&](const std::string& text, size_t most) {
    write_file(path, text);
    std::vector<std::string> all;
    LineReader reader(path, most);
    for (std::string line; reader.next(line);) all.push_back(line);
    EXPECT_EQ(reader.number(), static_cast<int64_t>(all.size()));
    return all;
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines("", 10), Lines());
  EXPECT_EQ(lines("a\n\nb", 10), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines("a\r\n\r\nb\r\n", 10), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines("0123456789\r\n", 10), Lines{"0123456789"});
  EXPECT_EQ(lines("a\n" + long_line + "\nb\n", 100'000), (Lines{"a", long_line, "b"}));
  try {
    lines("a\n" + long_line, 99'990);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(), path.string() + ": line 2 has more than 99990 bytes");
  }
  EXPECT_EQ(first_line(path, 10), "a");
  EXPECT_EQ(first_line(folder.path() / "none", 10), "");
}

TEST(TemporaryFolders, lie_where_the_environment_says_and_it_is_named) {
  const TemporaryFolder root;
  const char* before = std::getenv("TMPDIR");
  const std::string restored = before != nullptr ? before : "";
  write_file(root.path() / "file", "x");
  setenv("TMPDIR", root.path().c_str(), 1);
  EXPECT_EQ(temporary_root(), root.path());
  for (const char* name : {"file", "none"}) {
    setenv("TMPDIR", (root.path() / name).c_str(), 1);
    try {
      temporary_root();
      ADD_FAILURE() << name;
    } catch (const EnvironmentError& error) {
      EXPECT_NE(std::string(error.what()).find("$TMPDIR is '" + (root.path() / name).string()), std::string::npos);
    }
  }
  setenv("TMPDIR", "", 1);
  EXPECT_TRUE(fs::is_directory(temporary_root()));
  before != nullptr ? setenv("TMPDIR", restored.c_str(), 1) : unsetenv("TMPDIR");
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

TEST(TemporaryFolders, of_killed_owners_are_swept_and_others_stay) {
  const TemporaryFolder root;
  const char* before = std::getenv("TMPDIR");
  const std::string restored = before != nullptr ? before : "";
  setenv("TMPDIR", root.path().c_str(), 1);
  const auto make = [&](const std::string& name, int age_s) {
    fs::create_directories(root.path() / name / "inside");
    const timespec then{time(nullptr) - age_s, 0};
    const timespec times[2] = {then, then};
    utimensat(AT_FDCWD, (root.path() / name).c_str(), times, 0);
  };
  make("sweep-aaaaaa", 100);       // its owner is gone
  make("sweep-young1", 0);         // may be about to be locked
  make("sweep-else-aaaaaa", 100);  // of another prefix
  {
    const TemporaryFolder first("sweep");
    const timespec old[2] = {{1, 0}, {1, 0}};
    utimensat(AT_FDCWD, first.path().c_str(), old, 0);
    const TemporaryFolder second("sweep");
    EXPECT_TRUE(fs::exists(first.path())) << "its owner lives";
  }
  before != nullptr ? setenv("TMPDIR", restored.c_str(), 1) : unsetenv("TMPDIR");
  EXPECT_FALSE(fs::exists(root.path() / "sweep-aaaaaa"));
  EXPECT_TRUE(fs::exists(root.path() / "sweep-young1"));
  EXPECT_TRUE(fs::exists(root.path() / "sweep-else-aaaaaa"));
}

TEST(NamedLocks, have_one_holder_and_leave_no_file) {
  const std::string name = "test of " + std::to_string(getpid());
  NamedLock first(name), second(name);
  EXPECT_TRUE(first.try_lock());
  EXPECT_TRUE(fs::exists(first.path()));
  EXPECT_FALSE(second.try_lock());
  first.unlock();
  EXPECT_TRUE(second.try_lock());
  EXPECT_FALSE(first.try_lock());
  second.unlock();
  EXPECT_FALSE(fs::exists(first.path()));
}

TEST(NamedLocks, of_a_killed_process_are_free) {
  NamedLock lock("killed " + std::to_string(getpid()));
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  if (child == 0) {
    const char has_it = lock.try_lock() ? 'y' : 'n';
    if (write(channel[1], &has_it, 1) == 1) pause();
    _exit(0);
  }
  char has_it = 0;
  ASSERT_EQ(read(channel[0], &has_it, 1), 1);
  EXPECT_EQ(has_it, 'y');
  EXPECT_FALSE(lock.try_lock());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(channel[0]);
  close(channel[1]);
  EXPECT_TRUE(lock.try_lock());
}

TEST(Npy, round_trips_every_type_and_rank) {
  TemporaryFolder folder;
  for (DType dtype : {DType::s8, DType::u8, DType::s32, DType::f32, DType::s64, DType::boolean, DType::f16}) {
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
