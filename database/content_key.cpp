// Canonical JSON of the rows, hashed.
#include "database/content_key.h"

#include "src/core/hash.h"

namespace warpwright {
namespace {

std::string canonical(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string content_key(const Record& record) {
  Json json = {
      {"workload", record.workload_key},
      {"config", record.config_json},
      {"device", record.device_name},
      {"arch", record.arch},
      {"target", record.target_key},
      {"evidence", name(record.evidence)},
      {"environment", record.environment},
      {"outcome", name(record.outcome.kind)},
      {"limited_by", record.outcome.limited_by},
      {"samples_us", record.outcome.samples_us},
      {"objective", record.objective},
      {"source", record.source_hash},
      {"ptx", record.ptx_hash},
      {"cubin", record.cubin_hash},
      {"registers", record.registers},
      {"spill_bytes", record.spill_bytes},
      {"smem_bytes", record.smem_bytes},
  };
  // What came with a later schema version is part of the key where it is known, so that older keys stay.
  if (!record.warm_samples_us.empty()) json["warm_samples_us"] = record.warm_samples_us;
  if (!record.conditions.is_null()) json["conditions"] = record.conditions;
  return sha256_hex(canonical(json));
}

std::string device_key(const Record& record) {
  return key_hex(canonical(Json::array({record.device_name, record.arch, record.target_key, record.target_json})));
}

std::string config_key(const std::string& config_json) { return key_hex(config_json); }

std::string environment_key(const Record& record) { return key_hex(record.environment); }

std::string run_key(const RunKey& key) {
  return key_hex(canonical(Json::array({key.model_digest, key.device_name, key.seed, key.limits})));
}

}  // namespace warpwright
