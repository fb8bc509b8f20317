// The clock: bounds of each resource, joined by a norm. docs/virtual_clock.md has the same formulas in words.
#include "src/device/virtual/clock.h"

#include <algorithm>
#include <cmath>

#include "src/core/error.h"
#include "src/device/virtual/clock_constant.h"
#include "src/device/virtual/clock_traffic.h"

namespace warpwright {
namespace {

constexpr double kSectorBytes = 32, kWavefrontBytes = 128, kPartitions = 4;

/// Cycles of one resource, and the name of the larger part of what it does.
struct Load {
  std::string name;
  double cycles = 0;
};

/// The name of the largest part.
std::string largest(std::initializer_list<std::pair<const char*, double>> parts) {
  return std::max_element(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
}

class Clock {
 public:
  Clock(const LaunchProfile& profile, const LaunchSharing& sharing, const Target& target, bool cold_l2)
      : profile_(profile), sharing_(sharing), target_(target), cold_l2_(cold_l2) {}

  ClockResult run() {
    check();
    place();
    traffic_ =
        estimate_traffic(profile_, sharing_, double(resident_) * target_.sm_count, double(target_.l2_bytes), cold_l2_);
    add_card_bounds();
    add_latency_bound();
    add_sm_bounds();
    return join();
  }

 private:
  double constant(const char* name) const { return clock_constant(target_, name); }

  void check() const {
    if (profile_.ctas == 0 || profile_.threads_per_cta == 0 || profile_.sampled.empty()) {
      throw UsageError("virtual clock: the profile of the launch is empty");
    }
    for (const CtaProfile& cta : profile_.sampled) {
      if (!(cta.weight > 0)) throw UsageError("virtual clock: a sampled CTA has no weight");
    }
  }

  /// CTAs on the busiest SM, and how many of them at once.
  void place() {
    const Occupancy fits =
        occupancy(profile_.threads_per_cta, profile_.registers_per_thread, profile_.smem_bytes_per_cta, target_);
    if (fits.ctas == 0) {
      throw UsageError("virtual clock: a CTA of " + std::to_string(profile_.threads_per_cta) + " threads, " +
                       std::to_string(profile_.registers_per_thread) + " registers and " +
                       std::to_string(profile_.smem_bytes_per_cta) + " bytes of shared memory does not fit an SM of " +
                       target_.name);
    }
    ctas_ = static_cast<double>(profile_.ctas);
    ctas_of_sm_ = std::ceil(ctas_ / target_.sm_count);
    resident_ = fits.ctas;
    warps_ = std::ceil(profile_.threads_per_cta / 32.0);
    result_.resident_ctas = fits.ctas;
    result_.occupancy_limit = ctas_of_sm_ < fits.ctas ? "grid" : fits.limit;
    result_.waves = ctas_ / (double(fits.ctas) * target_.sm_count);
    const double resident_warps = std::min(ctas_of_sm_, double(resident_)) * warps_;
    imbalance_ = std::ceil(resident_warps / kPartitions) * kPartitions / resident_warps;
  }

  /// Spill instructions of one warp: PTX has none, so the text's count is taken as often as the text runs on average.
  double spills(const CtaProfile& cta) const {
    const double in_text = (profile_.spill_store_bytes + profile_.spill_load_bytes) / 4.0;
    const double runs = profile_.static_issued > 0
                            ? double(cta.longest_warp_issued) / static_cast<double>(profile_.static_issued)
                            : 1.0;
    return in_text * runs;
  }

  /// Sectors that L1 asks of L2 for loads.
  double missed_sectors(const CtaProfile& cta) const {
    const double loads = static_cast<double>(cta.loads.sectors), copies = static_cast<double>(cta.copies.sectors);
    const double distinct = std::min(loads, static_cast<double>(cta.read_sectors.size()));
    const double shared = resident_ * (double(profile_.smem_bytes_per_cta) + constant("shared_reserved_bytes"));
    const double capacity = std::max(8192.0, constant("l1_bytes") - shared);
    const double wanted = std::min(ctas_of_sm_, double(resident_)) * distinct * kSectorBytes;
    const double overflow = wanted > capacity ? 1 - capacity / wanted : 0;
    return copies + distinct + (loads - distinct) * overflow * constant("l1_far_reuse");
  }

  static double part(const CtaProfile& cta, Pipe pipe) { return double(cta.issued[static_cast<size_t>(pipe)]); }

  /// Cycles of each resource when the CTA has the SM for itself.
  std::vector<Load> loads_of(const CtaProfile& cta) const {
    const double local = part(cta, Pipe::local) + warps_ * spills(cta);
    double issued = warps_ * spills(cta);
    for (const uint64_t count : cta.issued) issued += double(count);
    std::vector<Load> loads;
    loads.push_back({"issue", imbalance_ * issued / constant("issue_warps_per_clock")});

    const double dot = part(cta, Pipe::dot), multiply = part(cta, Pipe::multiply);
    const double integer = part(cta, Pipe::integer), floating = part(cta, Pipe::floating);
    const double integer_lanes = constant("integer_lanes"), multiply_lanes = constant("multiply_lanes");
    const double alu = std::max(32 * integer * (1 - constant("integer_movable")) / integer_lanes,
                                32 * (integer + dot + multiply) / (integer_lanes + multiply_lanes));
    loads.push_back({"integer", imbalance_ * alu});
    const double fma =
        std::max(32 * (dot + multiply) / multiply_lanes, 32 * (dot + multiply + floating) / constant("floating_lanes"));
    loads.push_back({largest({{"dot", dot}, {"multiply", multiply}, {"floating", floating}}), imbalance_ * fma});

    const double conversion = 32 * part(cta, Pipe::conversion) / constant("conversion_lanes");
    const double special = 32 * part(cta, Pipe::special) / constant("special_lanes");
    loads.push_back({largest({{"conversion", conversion}, {"special", special}}), imbalance_ * (conversion + special)});

    const double accesses = part(cta, Pipe::shared) + part(cta, Pipe::global) + part(cta, Pipe::constant) + local;
    loads.push_back({"load_store", 32 * accesses / constant("lsu_lanes")});
    loads.push_back({"tensor", imbalance_ * tensor_cycles(cta)});
    loads.push_back({"shuffle", 32 * part(cta, Pipe::shuffle) / constant("shuffle_lanes")});
    loads.push_back({"control", 32 * part(cta, Pipe::control) / constant("control_lanes")});
    loads.push_back(data_load(cta, local));
    const double misses = missed_sectors(cta) + double(cta.stores.sectors);
    loads.push_back({"l2_port", misses * kSectorBytes / constant("sm_l2_bytes_per_clock")});
    return loads;
  }

  double tensor_cycles(const CtaProfile& cta) const {
    return double(cta.turing_products) / constant("turing_products_per_clock") +
           double(cta.ampere_products) / constant("ampere_products_per_clock");
  }

  /// Shared memory, L1 and spills use one array of data.
  Load data_load(const CtaProfile& cta, double local) const {
    const auto wavefronts = [](const GlobalRequests& requests) {
      return std::max(double(requests.count), double(requests.sectors) * kSectorBytes / kWavefrontBytes);
    };
    const double shared = kWavefrontBytes * double(cta.shared_wavefronts) / constant("shared_bytes_per_clock");
    const double l1 =
        kWavefrontBytes * (wavefronts(cta.loads) + wavefronts(cta.stores)) / constant("l1_bytes_per_clock");
    const double spilled = kWavefrontBytes * local / constant("l1_bytes_per_clock");
    return {largest({{"shared", shared}, {"l1", l1}, {"local", spilled}}), shared + l1 + spilled};
  }

  double microseconds(double cycles) const { return cycles / target_.sm_clock_mhz; }

  void bound(const std::string& name, double cycles) { result_.bounds.push_back({name, microseconds(cycles)}); }

  /// The busiest SM works through its CTAs, or at least through the heaviest one.
  void add_sm_bounds() {
    std::vector<Load> mean, most;
    double weight = 0;
    for (const CtaProfile& cta : profile_.sampled) {
      const std::vector<Load> loads = loads_of(cta);
      if (mean.empty()) {
        mean = most = loads;
        for (size_t i = 0; i < loads.size(); ++i) mean[i].cycles = 0;
      }
      for (size_t i = 0; i < loads.size(); ++i) {
        mean[i].cycles += cta.weight * loads[i].cycles;
        if (loads[i].cycles > most[i].cycles) most[i] = loads[i];
      }
      weight += cta.weight;
    }
    std::vector<ClockBound> bounds;
    for (size_t i = 0; i < mean.size(); ++i) {
      const double cycles = std::max(most[i].cycles, ctas_of_sm_ * mean[i].cycles / weight);
      bounds.push_back({most[i].name, microseconds(cycles)});
    }
    add_write_burst(*std::ranges::max_element(bounds, std::ranges::less{}, &ClockBound::time_us));
    result_.bounds.insert(result_.bounds.end(), bounds.begin(), bounds.end());
  }

  /// CTAs that run together end together, and their writes come at once. L2 takes in a part of its size; behind that
  /// they go at the pace of DRAM while the pipes stand.
  void add_write_burst(ClockBound& busiest) const {
    double sectors = 0, weight = 0;
    for (const CtaProfile& cta : profile_.sampled) {
      sectors += cta.weight * static_cast<double>(cta.written_sectors.size());
      weight += cta.weight;
    }
    const double together = std::min(ctas_, double(resident_) * target_.sm_count);
    const double burst = together * kSectorBytes * sectors / weight;
    const double taken_in = constant("write_burst_part") * static_cast<double>(target_.l2_bytes);
    if (burst <= taken_in) return;
    const double wait_us = (1 - taken_in / burst) * dram_us(traffic_.dram_written);
    if (wait_us > busiest.time_us) busiest.name = "writes";
    busiest.time_us += wait_us;
  }

  double dram_us(double bytes) const { return bytes / (target_.memory_gb_per_s * 1e3 * constant("dram_efficiency")); }

  /// From the start to the end of a CTA that has the SM for itself.
  double latency_of(const CtaProfile& cta) const {
    // A wait is as long as its slowest load: one missed sector makes it a wait for L2 or DRAM.
    const double waits = double(cta.load_waits), copy_waits = static_cast<double>(cta.copy_wait_distances.size());
    const double missing = std::min(waits, (missed_sectors(cta) - double(cta.copies.sectors)) / warps_);
    const double l1 = constant("l1_latency_cycles"), l2 = constant("l2_latency_cycles");
    const double behind_l1 = l2 + traffic_.dram_share * (constant("dram_latency_cycles") - l2);
    const double of_loads = waits * l1 + missing * (behind_l1 - l1);
    const double steps = double(cta.longest_warp_issued) + spills(cta);
    double alone = constant("warp_issue_cycles") * steps;
    // Between barriers all warps of the CTA must issue before the next wait: none hides it for another.
    double busiest = 0;
    for (const Load& load : loads_of(cta)) busiest = std::max(busiest, load.cycles);
    const double in_step = std::min(1.0, double(cta.barriers) / std::max(1.0, waits + copy_waits));
    alone += in_step * std::max(0.0, busiest - alone);
    // What is issued between load and wait hides the wait, at the pace of the CTA; no step hides two.
    const double pace = alone / std::max(1.0, steps);
    const double behind_loads = std::min(steps, double(cta.load_wait_distance));
    const double behind_shared = std::min(steps - behind_loads, double(cta.shared_wait_distance));
    const double of_shared = double(cta.shared_waits) * constant("shared_latency_cycles");
    double of_copies = 0;
    for (const uint64_t distance : cta.copy_wait_distances) {
      of_copies += std::max(0.0, behind_l1 - pace * static_cast<double>(distance));
    }
    const double local = part(cta, Pipe::local) / warps_ + spills(cta);
    return constant("cta_start_cycles") + alone + of_copies + std::max(0.0, of_loads - pace * behind_loads) +
           std::max(0.0, of_shared - pace * behind_shared) + double(cta.barriers) * constant("barrier_cycles") +
           local * constant("local_stall_cycles");
  }

  void add_latency_bound() {
    double mean = 0, most = 0, weight = 0;
    for (const CtaProfile& cta : profile_.sampled) {
      const double cycles = latency_of(cta);
      mean += cta.weight * cycles;
      most = std::max(most, cycles);
      weight += cta.weight;
    }
    const double rounds = std::ceil(ctas_of_sm_ / resident_);
    bound("latency", (rounds - 1) * mean / weight + most + memory_queue(rounds));
  }

  /// Each round begins with reads of all CTAs at once: they wait in a queue, together no longer than memory works.
  double memory_queue(double rounds) const {
    double memory_us = 0;
    for (const ClockBound& bound : result_.bounds) {
      if (bound.name == "l2" || bound.name == "dram") memory_us = std::max(memory_us, bound.time_us);
    }
    return std::min(rounds * constant("memory_queue_cycles"), memory_us * target_.sm_clock_mhz);
  }

  void add_card_bounds() {
    double sectors = 0, weight = 0;
    for (const CtaProfile& cta : profile_.sampled) {
      sectors += cta.weight * (missed_sectors(cta) + double(cta.stores.sectors));
      weight += cta.weight;
    }
    result_.l2_bytes = ctas_ * sectors / weight * kSectorBytes;
    result_.dram_bytes = traffic_.dram_bytes;
    bound("l2", result_.l2_bytes / (constant("l2_bytes_per_clock_per_sm") * target_.sm_count));
    bound("dispatch", ctas_ / constant("cta_starts_per_clock"));
    result_.bounds.push_back({"dram", dram_us(result_.dram_bytes)});
  }

  ClockResult join() {
    const double exponent = constant("overlap_exponent");
    double sum = 0;
    for (const ClockBound& bound : result_.bounds) sum += std::pow(bound.time_us, exponent);
    result_.launch_us = constant("launch_us");
    result_.time_us = result_.launch_us + std::pow(sum, 1 / exponent);
    result_.bounds.push_back({"launch", result_.launch_us});
    std::ranges::stable_sort(result_.bounds, std::ranges::greater{}, &ClockBound::time_us);
    result_.limited_by = result_.bounds.front().name;
    return std::move(result_);
  }

  const LaunchProfile& profile_;
  const LaunchSharing& sharing_;
  const Target& target_;
  bool cold_l2_;
  ClockResult result_;
  Traffic traffic_;
  double ctas_ = 0, ctas_of_sm_ = 0, warps_ = 0;
  double imbalance_ = 1;  // of the warps over the four partitions
  int resident_ = 0;
};

}  // namespace

double clock_constant(const Target& target, const char* name) {
  const auto found = target.timing.find(name);
  if (found == target.timing.end() || !found->is_object() || !found->contains("value") ||
      !(*found)["value"].is_number()) {
    throw UsageError("virtual clock: target `" + target.name + "` has no constant `" + name + "` in `timing`");
  }
  return (*found)["value"].get<double>();
}

ClockResult estimate(const LaunchProfile& profile, const Target& target, bool cold_l2) {
  return estimate(profile, LaunchSharing(profile), target, cold_l2);
}

ClockResult estimate(const LaunchProfile& profile, const LaunchSharing& sharing, const Target& target, bool cold_l2) {
  return Clock(profile, sharing, target, cold_l2).run();
}

Json to_json(const ClockResult& result) {
  Json bounds = Json::object();
  for (const ClockBound& bound : result.bounds) bounds[bound.name] = bound.time_us;
  return Json{{"estimate", true},
              {"time_us", result.time_us},
              {"limited_by", result.limited_by},
              {"bounds_us", bounds},
              {"launch_us", result.launch_us},
              {"resident_ctas", result.resident_ctas},
              {"occupancy_limit", result.occupancy_limit},
              {"waves", result.waves},
              {"dram_bytes", result.dram_bytes},
              {"l2_bytes", result.l2_bytes}};
}

}  // namespace warpwright
