// Target: JSON in and out, with every range checked, and its key.
#include "src/core/target.h"

#include <cmath>
#include <set>

#include "src/core/error.h"
#include "src/core/hash.h"

namespace warpwright {
namespace {

[[noreturn]] void refuse(std::string_view field, const std::string& why) {
  throw UsageError("target: field `" + std::string(field) + "` " + why);
}

/// Reads the fields of one JSON object and remembers their names, so that unknown ones can be refused.
class FieldReader {
 public:
  explicit FieldReader(const Json& json) : json_(json) {
    if (!json.is_object()) throw UsageError("target: a JSON object is expected");
  }

  std::string text(const char* field, size_t longest) {
    const Json& value = at(field);
    if (!value.is_string()) refuse(field, "is no string");
    const auto& string = value.get_ref<const std::string&>();
    if (string.size() > longest) refuse(field, "is longer than " + std::to_string(longest) + " characters");
    for (const unsigned char c : string) {
      if (c < 0x20 || c == 0x7f) refuse(field, "holds a control character");
    }
    return string;
  }

  int64_t integer(const char* field, int64_t least, int64_t most) {
    const Json& value = at(field);
    if (!value.is_number_integer()) refuse(field, "is no whole number");
    const bool too_large = value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(most);
    if (too_large || value.get<int64_t>() < least || value.get<int64_t>() > most) {
      refuse(field, "is " + value.dump() + "; allowed is " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value.get<int64_t>();
  }

  double real(const char* field, double above, double most) {
    const Json& value = at(field);
    if (!value.is_number()) refuse(field, "is no number");
    const double number = value.get<double>();
    if (!(number > above && number <= most)) {
      refuse(field, "is " + value.dump() + "; allowed is above " + Json(above).dump() + " to " + Json(most).dump());
    }
    return number;
  }

  const Json* optional(const char* field) {
    seen_.insert(field);
    const auto found = json_.find(field);
    return found == json_.end() ? nullptr : &*found;
  }

  void refuse_the_rest() const {
    for (const auto& item : json_.items()) {
      if (!seen_.contains(item.key())) refuse(item.key(), "is unknown");
    }
  }

 private:
  const Json& at(const char* field) {
    const Json* value = optional(field);
    if (value == nullptr) refuse(field, "is missing");
    return *value;
  }

  const Json& json_;
  std::set<std::string> seen_;
};

/// Exactly the constants of the architecture's table, each a positive number (or 0 where the table has 0) and a source.
Json checked_timing(const Json& timing, int compute_capability) {
  const Json defaults = default_timing(compute_capability);
  if (!timing.is_object()) refuse("timing", "is no object");
  for (const auto& item : timing.items()) {
    const std::string field = "timing." + item.key();
    if (!defaults.contains(item.key())) refuse(field, "is unknown");
    const Json& constant = item.value();
    if (!constant.is_object() || constant.size() != 2 || !constant.contains("value") || !constant.contains("source")) {
      refuse(field, "is no object of `value` and `source`");
    }
    if (!constant["source"].is_string()) refuse(field + ".source", "is no string");
    if (!constant["value"].is_number()) refuse(field + ".value", "is no number");
    const double value = constant["value"].get<double>();
    const bool may_be_zero = item.key() == "shared_reserved_bytes" || item.key() == "launch_us";
    if (!(value <= 1e9 && (value > 0 || (may_be_zero && value == 0)))) {
      refuse(field + ".value", "is " + constant["value"].dump() + "; allowed is above 0 to 1e9");
    }
  }
  for (const auto& item : defaults.items()) {
    if (!timing.contains(item.key())) refuse("timing." + item.key(), "is missing");
  }
  return timing;
}

/// What holds between fields.
void check_together(const Target& target) {
  if (target.compute_capability() < 75)
    refuse("compute_major", "and `compute_minor` are below 7.5, the lowest supported");
  if (target.smem_per_block_bytes > target.smem_per_sm_bytes) {
    refuse("smem_per_block_bytes", "is larger than `smem_per_sm_bytes`");
  }
  if (target.max_threads_per_block > target.max_warps_per_sm * 32) {
    refuse("max_threads_per_block", "is larger than 32 × `max_warps_per_sm`");
  }
}

/// All but name and timing: the part that a schedule may depend on.
Json identity_json(const Target& target) {
  return Json{{"device_name", target.device_name},
              {"compute_major", target.compute_major},
              {"compute_minor", target.compute_minor},
              {"sm_count", target.sm_count},
              {"smem_per_block_bytes", target.smem_per_block_bytes},
              {"smem_per_sm_bytes", target.smem_per_sm_bytes},
              {"registers_per_sm", target.registers_per_sm},
              {"max_registers_per_thread", target.max_registers_per_thread},
              {"max_threads_per_block", target.max_threads_per_block},
              {"max_warps_per_sm", target.max_warps_per_sm},
              {"max_ctas_per_sm", target.max_ctas_per_sm},
              {"l2_bytes", target.l2_bytes},
              {"memory_bus_bits", target.memory_bus_bits},
              {"sm_clock_mhz", target.sm_clock_mhz},
              {"memory_gb_per_s", target.memory_gb_per_s}};
}

}  // namespace

std::string Target::arch() const { return "sm_" + std::to_string(compute_major) + std::to_string(compute_minor); }

Json to_json(const Target& target) {
  Json json = identity_json(target);
  json["name"] = target.name;
  if (!target.timing.is_null()) json["timing"] = target.timing;
  return json;
}

Target target_from_json(const Json& json) {
  FieldReader fields(json);
  Target target;
  target.name = fields.text("name", 100);
  if (target.name.empty()) refuse("name", "is empty");
  target.device_name = fields.text("device_name", 200);
  target.compute_major = static_cast<int>(fields.integer("compute_major", 7, 99));
  target.compute_minor = static_cast<int>(fields.integer("compute_minor", 0, 9));
  target.sm_count = static_cast<int>(fields.integer("sm_count", 1, 4096));
  target.smem_per_block_bytes = fields.integer("smem_per_block_bytes", 1024, int64_t{1} << 24);
  target.smem_per_sm_bytes = fields.integer("smem_per_sm_bytes", 1024, int64_t{1} << 24);
  target.registers_per_sm = fields.integer("registers_per_sm", 1024, int64_t{1} << 24);
  target.max_registers_per_thread = static_cast<int>(fields.integer("max_registers_per_thread", 16, 1024));
  target.max_threads_per_block = static_cast<int>(fields.integer("max_threads_per_block", 32, 4096));
  target.max_warps_per_sm = static_cast<int>(fields.integer("max_warps_per_sm", 1, 1024));
  target.max_ctas_per_sm = static_cast<int>(fields.integer("max_ctas_per_sm", 1, 1024));
  target.l2_bytes = fields.integer("l2_bytes", 1024, int64_t{1} << 40);
  target.memory_bus_bits = static_cast<int>(fields.integer("memory_bus_bits", 16, 65536));
  target.sm_clock_mhz = fields.real("sm_clock_mhz", 0, 1e5);
  target.memory_gb_per_s = fields.real("memory_gb_per_s", 0, 1e6);
  const Json* timing = fields.optional("timing");
  fields.refuse_the_rest();
  check_together(target);
  target.timing = timing != nullptr ? checked_timing(*timing, target.compute_capability())
                                    : default_timing(target.compute_capability());
  return target;
}

std::string key(const Target& target) { return "t1-" + key_hex(identity_json(target).dump()); }

}  // namespace warpwright
