// Rows drawn from small pools.
#include "tests/database/random_database.h"

#include <fmt/format.h>

#include <random>

#include "database/content_key.h"
#include "database/json_lines.h"
#include "database/new_file.h"
#include "database/row_writer.h"
#include "tests/database/record_fixture.h"

namespace warpwright {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  int below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  bool one_in(int bound) { return below(bound) == 0; }

 private:
  std::mt19937_64 random_;
};

RunRow draw_run(Draw& draw) {
  const int number = draw.below(4);
  RunRow run;
  run.uid = fmt::format("uid{}", number);
  run.key = make_run_key(static_cast<uint64_t>(number));
  run.started_utc = fmt::format("2026-11-0{}T00:00:00Z", 9 - number);
  run.heartbeat_utc = fmt::format("2026-11-1{}T00:00:00Z", draw.below(3));
  if (draw.one_in(2)) run.ended_utc = run.heartbeat_utc;
  if (draw.one_in(2)) run.end_reason = draw.one_in(2) ? "time" : "interrupted";
  if (draw.one_in(2)) run.summary = Json{{"trials", draw.below(3)}};
  run.model_name = draw.one_in(3) ? "" : "digits";
  run.host = draw.one_in(3) ? "" : fmt::format("host{}", draw.below(2));
  return run;
}

RecordRow draw_record(Draw& draw) {
  const int number = draw.below(10);
  RecordRow row;
  row.record = number % 4 == 3
                   ? failed_record(number, number % 8 == 3 ? OutcomeKind::wrong_result : OutcomeKind::crashed)
                   : make_record(number % 6, 10.0 + number, number % 2 == 0 ? "a" : "b");
  if (number == 5) row.record.conditions = Json{{"throttled", true}};
  if (number == 6) row.record.warm_samples_us = {3.5, 0.1};
  row.record.outcome.log = fmt::format("log {}", draw.below(3));
  row.record.compile_seconds = 0.1 * draw.below(3);
  row.record.content_key = content_key(row.record);
  row.host = draw.one_in(3) ? "" : fmt::format("host{}", draw.below(2));
  row.recorded_utc = fmt::format("2026-11-1{}T00:00:00Z", draw.below(3));
  return row;
}

}  // namespace

void write_random_database(const std::filesystem::path& path, uint64_t seed) {
  Draw draw(seed);
  NewFile file(path);
  RowWriter writer(file.connection());
  Transaction transaction(file.connection());
  for (int i = draw.below(5); i > 0; --i) writer.insert(draw_run(draw));
  for (int i = draw.below(12); i > 0; --i) writer.insert(draw_record(draw));
  for (int i = draw.below(12); i > 0; --i) {
    const std::string key = draw_record(draw).record.content_key;
    writer.insert(TrialRow{fmt::format("uid{}", draw.below(4)), draw.below(4), key, draw.one_in(3)});
  }
  for (int i = draw.below(3); i > 0; --i) {
    writer.insert(RetractionRow{draw_record(draw).record.content_key, fmt::format("reason {}", draw.below(2))});
  }
  for (int i = draw.below(3); i > 0; --i) {
    writer.insert(ClearanceRow{draw_record(draw).record.content_key, draw_record(draw).record.content_key});
  }
  transaction.commit();
  file.finish();
}

std::string canonical_text(const std::filesystem::path& path) {
  std::string text;
  export_rows(path, {}, [&](const std::string& line) { text += line + "\n"; });
  return text;
}

}  // namespace warpwright
