// How long a build's look-up takes in databases of 10^3 to 10^6 records.
//
//   database_lookup [FOLDER] [MOST_RECORDS]      1000000 records take about 1.5 GB in FOLDER
//
// Each database has a thousandth as many Workloads as records, but at least 10, on three cards. Two look-ups are timed,
// as the median of the processor time over 200 Workloads: what best history reads of a task (of each group the 16
// fastest Configs with all of their records and their quarantine, the default, the outcomes, the effort), and the eight
// nearest Workloads of the same form. The lines with one Workload have all records on it, of which `outcomes` counts
// every one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <random>

#include "database/content_key.h"
#include "database/database.h"
#include "database/new_file.h"
#include "database/row_writer.h"
#include "src/core/hash.h"

using namespace warpwright;

namespace {

std::string workload_json(int64_t number) {
  const int64_t channels = 16 + number;
  const Json tensor{{"dtype", "s8"},
                    {"layout", "nhwc"},
                    {"nhwc", {1, 14, 14, channels}},
                    {"pixel_stride", channels},
                    {"channel_offset", 0}};
  return Json{{"kind", "dense"}, {"inputs", {tensor}}, {"output", tensor}, {"weight_dtype", "s8"}, {"groups", 1}}
      .dump();
}

RecordRow record_of(int64_t number, int64_t workloads, std::mt19937_64& random) {
  RecordRow row;
  Record& record = row.record;
  record.workload_json = workload_json(number % workloads);
  record.workload_key = "w1-" + key_hex(record.workload_json);
  record.config_json =
      fmt::format(R"({{"family":"f","knobs":{{"n":{}}},"space_version":{}}})", number / workloads / 3, 1 + number % 2);
  const int64_t card = number / workloads % 3;
  record.device_name = fmt::format("card {}", card);
  record.arch = card == 2 ? "sm_80" : "sm_89";
  record.target_key = record.device_name;
  record.target_json = Json{{"name", record.device_name}}.dump();
  record.evidence = Evidence::silicon;
  record.environment = "driver 580.0, NVRTC 13.0";
  record.outcome.kind = random() % 50 == 0 ? OutcomeKind::wrong_result : OutcomeKind::ok;
  const double us = 10 + static_cast<double>(random() % 1'000'000) / 1e4;
  if (record.outcome.ok()) record.outcome.samples_us = {us, us * 1.01, us * 0.99, us * 1.02, us * 0.98};
  record.source_hash = record.ptx_hash = record.cubin_hash = std::string(64, 'a');
  record.content_key = content_key(record);
  return row;
}

void write_database(const std::filesystem::path& path, int64_t records, int64_t workloads) {
  std::mt19937_64 random(1);
  NewFile file(path);
  RowWriter writer(file.connection());
  Transaction transaction(file.connection());
  RunRow run;
  run.uid = "run";
  run.key.limits = Json::object();
  writer.insert(run);
  for (int64_t i = 0; i < records; ++i) {
    const RecordRow row = record_of(i, workloads, random);
    writer.insert(row);
    writer.insert(TrialRow{"run", i, row.record.content_key, i < workloads});
  }
  transaction.commit();
  file.finish();
}

/// Processor time of this process: the same on a machine that is busy.
double cpu_us() { return static_cast<double>(std::clock()) * 1e6 / CLOCKS_PER_SEC; }

template <typename Body>
double median_us_of(int64_t workloads, const Body& body) {
  std::vector<double> times;
  for (int64_t i = 0; i < 200; ++i) {
    const std::string json = workload_json(i * 7919 % workloads);
    const double start = cpu_us();
    body(json, "w1-" + key_hex(json));
    times.push_back(cpu_us() - start);
  }
  return median(times);
}

void measure(const std::filesystem::path& folder, int64_t records, int64_t workloads) {
  const auto path = folder / fmt::format("lookup-{}-{}.db", records, workloads);
  std::filesystem::remove(path);
  write_database(path, records, workloads);
  const double start = cpu_us();
  const auto database = open_database(path, OpenMode::read_only);
  const double open_us = cpu_us() - start;
  size_t read = 0;
  const double task_us = median_us_of(workloads, [&](const std::string&, const std::string& key) {
    for (const RecordGroup& group : database->groups(key)) {
      const auto stream = database->fastest(group);
      for (int i = 0; i < 16; ++i) {
        const auto record = stream->next();
        if (!record) break;
        read += database->objections(key, record->config_json, record->arch).empty();
        read += database->of_config(key, record->config_json).size();
        if (i == 0) read += database->defaults(key, record->run_uid).size();
      }
      read += database->outcomes(group).size();
      read += static_cast<size_t>(database->effort(key, group.device.name));
    }
  });
  const double near_us = median_us_of(
      workloads, [&](const std::string& json, const std::string&) { read += database->near(json, 8).size(); });
  fmt::print("| {} | {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} |\n", records, workloads,
             static_cast<double>(std::filesystem::file_size(path)) / 1e6, open_us, task_us, near_us);
  std::fflush(stdout);
  std::filesystem::remove(path);
  if (read == 0) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder = argc > 1 ? argv[1] : ".";
  const int64_t most = argc > 2 ? std::atoll(argv[2]) : 1'000'000;
  fmt::print("| records | workloads | MB | open us | task us | near us |\n|---|---|---|---|---|---|\n");
  for (int64_t records = 1000; records <= most; records *= 10)
    measure(folder, records, std::max<int64_t>(10, records / 1000));
  for (int64_t records = 1000; records <= most / 10; records *= 10) measure(folder, records, 1);
}
