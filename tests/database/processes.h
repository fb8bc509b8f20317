// Processes of tests: bodies in children that share nothing with the parent.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>

namespace warpwright {

/// `body` in a child; its exit status is 0, or 1 after an exception.
pid_t start_process(const std::function<void()>& body);
/// Exit status, or 128 and the signal.
int wait_for(pid_t child);

/// Two writers on a new file, one of them killed `kills` times. Checks that the other never fails, that every record
/// whose key was given back is there and that the file is sound.
void kill_a_writer(const std::filesystem::path& folder, int kills, int records_of_other);
/// `writers` processes that add records to one file for so long; checks that none fails and nothing is lost.
void write_at_once(const std::filesystem::path& folder, int writers, double seconds);

}  // namespace warpwright
