// Chooses the CTAs that a profile looks at.
#include <algorithm>
#include <array>

#include "src/device/virtual/profiler.h"

namespace warpwright::virtual_gpu {
namespace {

constexpr uint64_t kMostSamples = 12;
constexpr uint32_t kMostParts = 16;  // CTAs along z that share a sum

// A coordinate and how many it stands for.
struct Point {
  uint32_t at;
  double weight;
};

// First, last, and `inside` points of the rest, evenly spread.
std::vector<Point> points(uint32_t extent, uint32_t inside) {
  std::vector<Point> out{{0, 1.0}};
  const uint32_t rest = extent > 2 ? extent - 2 : 0;
  const uint32_t count = std::min(rest, inside);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = 1 + (uint64_t{2} * i + 1) * rest / (uint64_t{2} * count);
    out.push_back({static_cast<uint32_t>(at), static_cast<double>(rest) / count});
  }
  if (extent > 1) out.push_back({extent - 1, 1.0});
  return out;
}

// The middle alone.
std::vector<Point> middle(uint32_t extent) { return {{extent / 2, static_cast<double>(extent)}}; }

}  // namespace

std::vector<Sample> stratify(const LaunchShape& shape) {
  const uint32_t parts = shape.grid[2] <= kMostParts ? shape.grid[2] : 1;
  const std::array<uint32_t, 3> extents{shape.grid[0], shape.grid[1], shape.grid[2] / parts};
  std::array<std::vector<Point>, 3> axes;
  for (size_t i = 0; i < 3; ++i) axes[i] = points(extents[i], 1);
  const auto total = [&] { return axes[0].size() * axes[1].size() * axes[2].size(); };
  for (size_t i = 3; i-- > 0 && total() > kMostSamples;) axes[i] = middle(extents[i]);
  // What is left of the budget goes to the longest axis.
  const size_t longest = static_cast<size_t>(std::max_element(extents.begin(), extents.end()) - extents.begin());
  for (uint32_t inside = 2; inside <= 10 && axes[longest].size() > 1; ++inside) {
    const std::vector<Point> before = axes[longest];
    axes[longest] = points(extents[longest], inside);
    if (total() <= kMostSamples) continue;
    axes[longest] = before;
    break;
  }
  std::vector<Sample> out;
  for (const Point& z : axes[2]) {
    for (const Point& y : axes[1]) {
      for (const Point& x : axes[0]) {
        for (uint32_t part = 0; part < parts; ++part) {
          const uint64_t cta = (uint64_t{z.at + part} * shape.grid[1] + y.at) * shape.grid[0] + x.at;
          out.push_back({cta, x.weight * y.weight * z.weight, part + 1 < parts});
        }
      }
    }
  }
  return out;
}

}  // namespace warpwright::virtual_gpu
