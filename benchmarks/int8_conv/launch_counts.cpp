// A LaunchProfile as JSON; sectors as runs of neighbours.
#include "benchmarks/int8_conv/launch_counts.h"

namespace warpwright {
namespace {

Json runs_of(const std::vector<uint64_t>& sectors) {
  Json runs = Json::array();
  for (size_t i = 0; i < sectors.size();) {
    size_t end = i + 1;
    while (end < sectors.size() && sectors[end] == sectors[end - 1] + 1) ++end;
    runs.push_back(sectors[i]);
    runs.push_back(end - i);
    i = end;
  }
  return runs;
}

std::vector<uint64_t> sectors_of(const Json& runs) {
  std::vector<uint64_t> sectors;
  for (size_t i = 0; i + 1 < runs.size(); i += 2) {
    const auto first = runs[i].get<uint64_t>();
    for (uint64_t k = 0; k < runs[i + 1].get<uint64_t>(); ++k) sectors.push_back(first + k);
  }
  return sectors;
}

/// One list of fields for both directions: `f(name, field)`.
template <typename Cta, typename F>
void fields_of(Cta& cta, F&& f) {
  f("issued", cta.issued);
  f("turing_products", cta.turing_products);
  f("ampere_products", cta.ampere_products);
  f("shared_wavefronts", cta.shared_wavefronts);
  f("shared_wavefronts_ideal", cta.shared_wavefronts_ideal);
  f("matrix_conflicts", cta.matrix_conflicts);
  f("copy_conflicts", cta.copy_conflicts);
  f("barriers", cta.barriers);
  f("longest_warp_issued", cta.longest_warp_issued);
  f("load_waits", cta.load_waits);
  f("shared_waits", cta.shared_waits);
  f("load_wait_distance", cta.load_wait_distance);
  f("shared_wait_distance", cta.shared_wait_distance);
  f("copy_wait_distances", cta.copy_wait_distances);
  f("weight", cta.weight);
  const auto requests = [&](const std::string& name, auto& of) {
    f(name + ".count", of.count);
    f(name + ".narrow", of.narrow);
    f(name + ".partial", of.partial);
    f(name + ".sectors", of.sectors);
  };
  requests("loads", cta.loads);
  requests("stores", cta.stores);
  requests("copies", cta.copies);
}

template <typename Profile, typename F>
void launch_fields_of(Profile& profile, F&& f) {
  f("ctas", profile.ctas);
  f("threads_per_cta", profile.threads_per_cta);
  f("registers_per_thread", profile.registers_per_thread);
  f("smem_bytes_per_cta", profile.smem_bytes_per_cta);
  f("read_footprint_bytes", profile.read_footprint_bytes);
  f("written_footprint_bytes", profile.written_footprint_bytes);
  f("fresh_reads", profile.fresh_reads);
  f("spill_store_bytes", profile.spill_store_bytes);
  f("spill_load_bytes", profile.spill_load_bytes);
  f("static_issued", profile.static_issued);
}

}  // namespace

Json to_json(const LaunchProfile& profile) {
  Json json = Json::object();
  launch_fields_of(profile, [&](const std::string& name, const auto& field) { json[name] = field; });
  json["sampled"] = Json::array();
  for (const CtaProfile& cta : profile.sampled) {
    Json one = Json::object();
    fields_of(cta, [&](const std::string& name, const auto& field) { one[name] = field; });
    one["read_sectors"] = runs_of(cta.read_sectors);
    one["written_sectors"] = runs_of(cta.written_sectors);
    json["sampled"].push_back(std::move(one));
  }
  return json;
}

LaunchProfile launch_profile_from_json(const Json& json) {
  LaunchProfile profile;
  launch_fields_of(profile, [&](const std::string& name, auto& field) { json.at(name).get_to(field); });
  for (const Json& one : json.at("sampled")) {
    CtaProfile& cta = profile.sampled.emplace_back();
    fields_of(cta, [&](const std::string& name, auto& field) { one.at(name).get_to(field); });
    cta.read_sectors = sectors_of(one.at("read_sectors"));
    cta.written_sectors = sectors_of(one.at("written_sectors"));
  }
  return profile;
}

}  // namespace warpwright
