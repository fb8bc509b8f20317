// Magic numbers of file systems that are reached over a wire or a bridge; from statfs(2) and linux/magic.h.
#include "database/file_system.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>

namespace warpwright {
namespace {

constexpr std::array<uint64_t, 16> kRemote = {
    0x6969,      // nfs
    0xFF534D42,  // cifs
    0xFE534D42,  // smb2
    0x517B,      // smb
    0x01021997,  // 9p; drives of Windows under WSL 2
    0x65735546,  // fuse, sshfs among them
    0x53464846,  // drvfs of WSL 1
    0x786F4256,  // vboxsf
    0xBACBACBC,  // vmhgfs
    0x00C36400,  // ceph
    0x0BD00BD0,  // lustre
    0x47504653,  // gpfs
    0x5346414F,  // afs
    0x73757245,  // coda
    0x7461636F,  // ocfs2
    0x01161970,  // gfs2
};

}  // namespace

bool is_local_file_system(uint64_t magic) {
  return std::find(kRemote.begin(), kRemote.end(), magic & 0xFFFFFFFFu) == kRemote.end();
}

bool is_on_local_file_system(const std::filesystem::path& path) {
  struct statfs status {};
  if (statfs(path.c_str(), &status) != 0) {
    const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
    if (statfs(folder.c_str(), &status) != 0) return false;
  }
  return is_local_file_system(static_cast<uint64_t>(status.f_type));
}

}  // namespace warpwright
