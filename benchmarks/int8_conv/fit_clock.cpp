// The clock against measured CUTLASS convolutions, from the counts that profile_tiles wrote:
//
//   fit_clock OUT.jsonl virtual:rtx3070          judges the constants of the card
//   fit_clock OUT.jsonl virtual:rtx3070 --fit    fits some constants, and judges others that never saw the layer
//
// Leave-layers-out: constants are fitted to the tiles of all layers but two and judged on those two, in turn.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "benchmarks/int8_conv/launch_counts.h"
#include "src/core/error.h"
#include "src/device/device.h"
#include "src/device/virtual/clock.h"

using namespace warpwright;

namespace {

struct Tile {
  std::string layer, tile;
  double time_us = 0;
  bool legal = true;
  LaunchProfile profile;
  LaunchSharing sharing;
};

struct Fitted {
  const char* name;
  double least, most;
};
constexpr Fitted kFitted[] = {
    {"turing_products_per_clock", 700, 1024},
    {"shared_bytes_per_clock", 60, 128},
    {"l2_bytes_per_clock_per_sm", 12, 40},
    {"memory_queue_cycles", 0, 6000},
    {"write_burst_part", 0, 1},
    {"overlap_exponent", 3, 12},
};

std::vector<Tile> read_tiles(const std::string& path) {
  std::ifstream in(path);
  std::vector<Tile> tiles;
  for (std::string line; std::getline(in, line);) {
    const Json json = Json::parse(line);
    if (!json.contains("counts")) continue;
    LaunchProfile profile = launch_profile_from_json(json["counts"]);
    LaunchSharing sharing(profile);
    tiles.push_back({json["layer"], json["tile"], json["time_us"], !json.contains("illegal"), std::move(profile),
                     std::move(sharing)});
  }
  if (tiles.empty()) throw UsageError("fit_clock: no counts in " + path);
  return tiles;
}

double& value_of(Target& target, const char* name) { return target.timing[name]["value"].get_ref<double&>(); }

std::vector<std::string> layers_of(const std::vector<Tile>& tiles) {
  std::vector<std::string> layers;
  for (const Tile& tile : tiles) {
    if (std::ranges::find(layers, tile.layer) == layers.end()) layers.push_back(tile.layer);
  }
  return layers;
}

std::vector<double> times(const std::vector<const Tile*>& tiles, const Target& target) {
  std::vector<double> out;
  for (const Tile* tile : tiles) out.push_back(estimate(tile->profile, tile->sharing, target).time_us);
  return out;
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::ranges::less{}, [&](size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return ranks;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n,
               mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

/// Spread of log(estimate / measured) within a layer, fast tiles above all, and a softened mean of its size.
double loss(const std::vector<const Tile*>& tiles, const Target& target) {
  constexpr double kSoft = 0.05, kNear = 0.15;
  const std::vector<double> estimated = times(tiles, target);
  double sum = 0, spread = 0, layers = 0;
  for (size_t first = 0; first < tiles.size();) {
    size_t end = first;
    double best = tiles[first]->time_us, weights = 0, mean = 0, square = 0;
    for (; end < tiles.size() && tiles[end]->layer == tiles[first]->layer; ++end)
      best = std::min(best, tiles[end]->time_us);
    for (size_t i = first; i < end; ++i) {
      const double error = std::log(estimated[i] / tiles[i]->time_us);
      const double weight = std::exp(-std::log(tiles[i]->time_us / best) / kNear);
      sum += std::sqrt(error * error + kSoft * kSoft);
      weights += weight;
      mean += weight * error;
      square += weight * error * error;
    }
    spread += std::sqrt(std::max(0.0, square / weights - mean * mean / weights / weights));
    layers += 1;
    first = end;
  }
  return sum / static_cast<double>(tiles.size()) + spread / layers;
}

/// One constant after the other, by ever smaller steps.
void fit(const std::vector<const Tile*>& tiles, Target& target) {
  double least = loss(tiles, target);
  for (double step = 0.3; step > 0.02; step /= 2) {
    for (bool better = true; better;) {
      better = false;
      for (const Fitted& constant : kFitted) {
        for (const double factor : {1 + step, 1 / (1 + step)}) {
          const double before = value_of(target, constant.name);
          value_of(target, constant.name) = std::clamp(before * factor, constant.least, constant.most);
          const double now = loss(tiles, target);
          if (now < least - 1e-5) {
            least = now;
            better = true;
          } else {
            value_of(target, constant.name) = before;
          }
        }
      }
    }
  }
}

struct Judged {
  const Tile* tile;
  double estimate_us;
};

void print_summary(const std::string& title, const std::vector<Judged>& judged) {
  std::vector<double> estimated, measured, regrets;
  double error = 0;
  std::map<std::string, std::vector<const Judged*>> by_layer;
  for (const Judged& one : judged) {
    estimated.push_back(one.estimate_us);
    measured.push_back(one.tile->time_us);
    error += std::abs(std::log(one.estimate_us / one.tile->time_us));
    by_layer[one.tile->layer].push_back(&one);
  }
  double log_regret = 0, worst = 1;
  for (const auto& [layer, of_layer] : by_layer) {
    const Judged* picked = *std::ranges::min_element(of_layer, {}, &Judged::estimate_us);
    double best = picked->tile->time_us;
    for (const Judged* one : of_layer) best = std::min(best, one->tile->time_us);
    log_regret += std::log(picked->tile->time_us / best);
    worst = std::max(worst, picked->tile->time_us / best);
  }
  fmt::print("| {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.1f}% |\n", title, judged.size(),
             std::exp(log_regret / static_cast<double>(by_layer.size())), worst,
             correlation(ranks(estimated), ranks(measured)), 100 * error / static_cast<double>(judged.size()));
}

void print_both(const std::string& title, const std::vector<Judged>& judged) {
  print_summary(title + ", all tiles", judged);
  std::vector<Judged> legal;
  std::ranges::copy_if(judged, std::back_inserter(legal), [](const Judged& one) { return one.tile->legal; });
  print_summary(title + ", tiles with a legal Config", legal);
}

std::vector<Judged> judge(const std::vector<const Tile*>& tiles, const Target& target) {
  const std::vector<double> estimated = times(tiles, target);
  std::vector<Judged> judged;
  for (size_t i = 0; i < tiles.size(); ++i) judged.push_back({tiles[i], estimated[i]});
  return judged;
}

void print_layers(const std::vector<Judged>& judged, const std::vector<std::string>& layers, const Target& target) {
  fmt::print(
      "| layer | best, us | its estimate | tile that the clock picks | us | regret | limited by |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const std::string& layer : layers) {
    const Judged *best = nullptr, *picked = nullptr;
    for (const Judged& one : judged) {
      if (one.tile->layer != layer) continue;
      if (best == nullptr || one.tile->time_us < best->tile->time_us) best = &one;
      if (picked == nullptr || one.estimate_us < picked->estimate_us) picked = &one;
    }
    fmt::print("| {} | {:.0f} | {:.0f} | {} | {:.0f} | {:.3f} | {} |\n", layer, best->tile->time_us, best->estimate_us,
               picked->tile->tile, picked->tile->time_us, picked->tile->time_us / best->tile->time_us,
               estimate(picked->tile->profile, picked->tile->sharing, target).limited_by);
  }
}

std::vector<Judged> judge_left_out(const std::vector<const Tile*>& tiles, const std::vector<std::string>& layers,
                                   const Target& start) {
  std::vector<Judged> judged;
  const size_t folds = (layers.size() + 1) / 2;
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<const Tile*> known, left_out;
    for (const Tile* tile : tiles) {
      const auto at = static_cast<size_t>(std::ranges::find(layers, tile->layer) - layers.begin());
      (at % folds == fold ? left_out : known).push_back(tile);
    }
    Target target = start;
    fit(known, target);
    const std::vector<Judged> of_fold = judge(left_out, target);
    judged.insert(judged.end(), of_fold.begin(), of_fold.end());
  }
  return judged;
}

int run(const std::string& path, const std::string& card, bool fits) {
  const std::vector<Tile> all = read_tiles(path);
  std::vector<const Tile*> tiles;
  for (const Tile& tile : all) tiles.push_back(&tile);
  const std::vector<std::string> layers = layers_of(all);
  Target target = target_of_device(card);
  const std::vector<Judged> judged = judge(tiles, target);
  print_layers(judged, layers, target);
  fmt::print("\n| constants | tiles | regret | worst | Spearman | mean error |\n|---|---|---|---|---|---|\n");
  print_both("of the card", judged);
  if (!fits) return 0;
  for (const Fitted& constant : kFitted) value_of(target, constant.name);  // throws where one is missing
  print_both("fitted without the layer", judge_left_out(tiles, layers, target));
  fit(tiles, target);
  print_both("fitted to all", judge(tiles, target));
  fmt::print("\n| constant | of the card | fitted to all |\n|---|---|---|\n");
  for (const Fitted& constant : kFitted) {
    Target card_target = target_of_device(card);
    fmt::print("| `{}` | {:.4g} | {:.4g} |\n", constant.name, value_of(card_target, constant.name),
               value_of(target, constant.name));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool fits = argc == 4 && std::string(argv[3]) == "--fit";
    if (argc != 3 && !fits) throw UsageError("usage: fit_clock OUT.jsonl virtual:CARD [--fit]");
    return run(argv[1], argv[2], fits);
  } catch (const Error& error) {
    fmt::print(stderr, "fit_clock: {}\n", error.what());
    return 2;
  }
}
