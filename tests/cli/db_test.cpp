// The verbs of `db` as a user types them.
#include "tests/cli/program_fixture.h"

namespace warpwright {
namespace {

class DbTest : public ProgramTest {
 protected:
  size_t records_of(const std::string& file) { return run_json({"db", "stats", file})["records"].get<size_t>(); }
  std::string database_of_version_1() {
    std::filesystem::copy_file(test_data() / "databases/version_1.db", path("v1.db"));
    return path("v1.db");
  }
};

TEST_F(DbTest, MergeSaysWhatCameInAndWritesNothingWhenDry) {
  const std::string a = write_database("a.db", 0, 2), b = write_database("b.db", 1, 3, {"rtx4080"}),
                    c = write_database("c.db", 0, 1, {"rtx3090", false, "driver 470.1, NVRTC 12.0"});
  const std::vector<std::string> before = files_in(folder_.path());
  const Json dry = run_json({"db", "merge", a, b, c, a, "--dry-run"});
  EXPECT_EQ(files_in(folder_.path()), before);
  ASSERT_EQ(dry["sources"].size(), 4u);
  EXPECT_EQ(dry["sources"][2]["records_by_environment"].begin().key(), "driver 470.1, NVRTC 12.0");
  EXPECT_EQ(dry["sources"][3]["added"].value("record", 0), 0);
  EXPECT_EQ(dry["sources"][3]["known"]["record"], records_of(a));
  const std::string text = run({"db", "merge", a, b, c, "-o", path("m.db")});
  EXPECT_NE(text.find("NVIDIA GeForce RTX 4080"), std::string::npos) << text;
  EXPECT_EQ(records_of(path("m.db")), records_of(a) + records_of(b) + records_of(c));
  run({"db", "merge", a, b, "-o", path("m.db")}, 2);  // exists
  run({"db", "merge", a, b}, 2);
  EXPECT_TRUE(says("--dry-run")) << err_;
  run({"db", "merge", a, path("absent.db"), "-o", path("n.db")}, 2);
  EXPECT_TRUE(says("absent.db")) << err_;
  EXPECT_FALSE(std::filesystem::exists(path("n.db")));
}

TEST_F(DbTest, MergeRefusesDamagedRowsAndTakesTheRest) {
  const std::string a = write_database("a.db", 0, 2);
  const Json records = run_json({"db", "list", a})["records"];
  execute_sql(a, "UPDATE records SET registers = registers + 1 WHERE id = 1");
  const Json report = run_json({"db", "merge", a, "-o", path("m.db")});
  int refused = 0;
  for (const auto& [why, count] : report["sources"][0]["refused"].items()) refused += count.get<int>();
  EXPECT_GE(refused, 1);
  EXPECT_EQ(records_of(path("m.db")), records.size() - 1);
}

TEST_F(DbTest, ARetractionHoldsInBuildsAndLaterMerges) {
  const std::string a = write_database("a.db", 0, tasks_.size());
  std::filesystem::copy_file(a, path("copy.db"));
  const Json best = run_json({"db", "best", a, "--task", tasks_[1].key})["records"];
  ASSERT_GE(best.size(), 2u);
  const Json retracted =
      run_json({"db", "retract", a, best[0]["key"].get<std::string>().substr(0, 20), "--reason", "hot"});
  EXPECT_EQ(retracted["schema"], "warpwright.db-retract/1");
  EXPECT_EQ(retracted["retracted"], Json::array({best[0]["key"]}));
  const auto config_of = [&](const std::string& file) {
    const Json document = run_json(build({"--db", file, "--dry-run"}));
    for (const Json& kernel : document["kernels"]) {
      if (kernel["workload_key"] == tasks_[1].key) return kernel["config"];
    }
    return Json();
  };
  EXPECT_EQ(config_of(path("copy.db")), best[0]["config"]);
  EXPECT_EQ(config_of(a), best[1]["config"]);
  EXPECT_EQ(run_json({"db", "merge", a, path("copy.db"), "-o", path("m.db")})["retracted"], 1);
  EXPECT_EQ(config_of(path("m.db")), best[1]["config"]);
  run({"db", "retract", a, "0000", "--reason", "x"}, 2);
  EXPECT_EQ(run_json({"db", "retract", a, "--run", "1", "--reason", "x"})["retracted"].size(),
            records_of(path("copy.db")) - 1);
  EXPECT_EQ(records_of(a), 0u);
}

TEST_F(DbTest, ExportAndImportGiveTheSameAndAnAnonymousOneKeepsTheKeys) {
  const std::string a = write_database("a.db", 0, 3);
  const Json exported = run_json({"db", "export", a, "-o", path("a.jsonl")});
  EXPECT_EQ(exported["schema"], "warpwright.db-export/1");
  EXPECT_GT(exported["rows"], 0);
  EXPECT_EQ(run({"db", "export", a}), read_file(path("a.jsonl")));
  run({"db", "import", path("a.jsonl"), "-o", path("b.db")});
  EXPECT_EQ(run({"db", "export", path("b.db")}), read_file(path("a.jsonl")));
  run_json({"db", "export", a, "--anonymous", "-o", path("anonymous.jsonl")});
  const std::string text = read_file(path("anonymous.jsonl"));
  EXPECT_NE(read_file(path("a.jsonl")).find("secret.onnx"), std::string::npos);
  EXPECT_EQ(text.find("secret"), std::string::npos);
  run({"db", "import", path("anonymous.jsonl"), "-o", path("c.db")});
  const auto keys_of = [&](const std::string& file) {
    std::vector<std::string> keys;
    const Json document = run_json({"db", "list", file, "--limit", "1000"});
    for (const Json& record : document["records"]) keys.push_back(record["key"]);
    std::sort(keys.begin(), keys.end());
    return keys;
  };
  EXPECT_EQ(keys_of(path("c.db")), keys_of(a));
  EXPECT_EQ(run_json(build({"--db", path("c.db"), "--dry-run"}))["kernels"],
            run_json(build({"--db", a, "--dry-run"}))["kernels"]);
  // Refusals: a file that was cut, one that is none, an output that exists.
  write_file(path("cut.jsonl"), text.substr(0, text.size() / 2));
  run({"db", "import", path("cut.jsonl"), "-o", path("d.db")}, 2);
  run({"db", "import", model_, "-o", path("d.db")}, 2);
  EXPECT_FALSE(std::filesystem::exists(path("d.db")));
  run({"db", "import", path("a.jsonl"), "-o", a}, 2);
  run({"db", "export", a, "-o", a}, 2);
  run({"db", "export", a, "--json"}, 2);
}

TEST_F(DbTest, ImportSaysWhatItCannotTake) {
  const std::string a = write_database("a.db", 0, 2);
  run({"db", "export", a, "-o", path("a.jsonl")});
  const std::string text = read_file(path("a.jsonl"));
  std::string crlf, no_run;
  int64_t lines = 0, trials = 0;
  LineReader reader(path("a.jsonl"), 1 << 20);
  for (std::string line; reader.next(line);) {
    crlf += line + "\r\n";
    trials += line.starts_with("{\"trial\"");
    no_run += line.starts_with("{\"run\"") ? "{\"run\":{}}\n" : line + "\n";
    ++lines;
  }
  write_file(path("crlf.jsonl"), crlf);
  run({"db", "import", path("crlf.jsonl"), "-o", path("crlf.db")});
  EXPECT_EQ(run({"db", "export", path("crlf.db")}), text);
  // A run that is refused takes its trials with it, and they are counted.
  write_file(path("no_run.jsonl"), no_run);
  const Json report = run_json({"db", "import", path("no_run.jsonl"), "-o", path("no_run.db")});
  int64_t refused = 0;
  for (const auto& [why, refusal] : report["refused"].items()) refused += refusal["lines"].get<int64_t>();
  EXPECT_GT(trials, 0);
  EXPECT_EQ(refused, trials + 1);
  EXPECT_FALSE(report["added"].contains("trial"));
  std::string newer = text;
  newer.replace(newer.find("records/2"), 9, "records/9");
  write_file(path("newer.jsonl"), newer);
  run({"db", "import", path("newer.jsonl"), "-o", path("n.db")}, 2);
  EXPECT_TRUE(says("another version") && says("records/9") && says("newer.jsonl")) << err_;
  write_file(path("long.jsonl"), text.substr(0, text.find('\n') + 1) + std::string(5 << 20, 'x'));
  run({"db", "import", path("long.jsonl"), "-o", path("n.db")}, 2);
  EXPECT_TRUE(says(path("long.jsonl") + ": line 2")) << err_;
  EXPECT_FALSE(std::filesystem::exists(path("n.db")));
}

TEST_F(DbTest, MergeCountsTheTrialsOfARefusedRun) {
  const std::string a = write_database("a.db", 0, 2);
  const auto trials = run_json({"db", "merge", a, "--dry-run"})["sources"][0]["added"]["trial"].get<int64_t>();
  execute_sql(a, "UPDATE runs SET limits_json = '[]'");
  const Json source = run_json({"db", "merge", a, "--dry-run"})["sources"][0];
  EXPECT_EQ(source["refused"].value("trial: its run or its record was refused", 0), trials) << source;
  EXPECT_FALSE(source["known"].contains("trial"));
}

TEST_F(DbTest, RecordsWithoutTheirMedianAreTold) {
  const std::string a = write_database("a.db", 0, 1);
  execute_sql(a, "UPDATE records SET median_us = NULL");
  EXPECT_EQ(run_json({"db", "best", a})["records"], Json::array());
  EXPECT_TRUE(says("its median is missing")) << err_;
  run({"db", "check", a}, 1);
  run({"db", "merge", a, "-o", path("m.db")});  // makes it anew
  EXPECT_EQ(run_json({"db", "best", path("m.db")})["records"].size(), 1u);
  EXPECT_FALSE(says("median")) << err_;
}

TEST_F(DbTest, CheckTellsSoundFromDamaged) {
  const std::string a = write_database("a.db", 0, 3);
  EXPECT_EQ(run_json({"db", "check", a})["databases"][0]["faults"], Json::object());
  execute_sql(a, "UPDATE records SET registers = registers + 1 WHERE id = 1");
  const std::string before = read_file(a);
  const Json report = run_json({"db", "check", a}, 1);
  EXPECT_GE(report["databases"][0]["faults"].size(), 1u);
  EXPECT_NE(run({"db", "check", a}, 1).find("DAMAGED"), std::string::npos);
  EXPECT_EQ(read_file(a), before);
  std::filesystem::resize_file(a, 8192);
  run({"db", "check", a}, 2);
  EXPECT_TRUE(says("was cut")) << err_;
}

TEST_F(DbTest, MigrateMakesANewFileOfTodaysSchema) {
  const std::string old = database_of_version_1(), before = read_file(old);
  run({"tune", model_, "--shape", shape_, "--db", old, "--device", "virtual:rtx4090", "--trials", "1"}, 2);
  EXPECT_TRUE(says("db migrate " + old)) << err_;
  const Json report = run_json({"db", "migrate", old, "-o", path("new.db")});
  EXPECT_EQ(report["sources"][0]["schema_version"], 1);
  EXPECT_EQ(records_of(path("new.db")), records_of(old));
  EXPECT_EQ(run_json({"db", "check", path("new.db")})["databases"][0]["schema_version"], 2);
  EXPECT_EQ(read_file(old), before);
  run({"db", "migrate", old, "-o", old}, 2);
}

TEST_F(DbTest, RunsDiffAndShow) {
  const std::string a = write_database("a.db", 0, 3),
                    b = write_database("b.db", 0, 3, {"rtx4090", false, "driver 590.0, NVRTC 13.0"});
  run({"db", "merge", a, b, "-o", path("m.db")});
  const Json runs = run_json({"db", "runs", path("m.db")})["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]["end_reason"], "trials");
  EXPECT_EQ(runs[0]["arguments"], "tune secret.onnx");
  EXPECT_EQ(runs[0]["summary"]["trials"], runs[0]["trials"]);
  EXPECT_NE(run({"db", "runs", path("m.db")}).find("ended: trials"), std::string::npos);
  const Json diff = run_json({"db", "diff", path("m.db"), "1", "2"});
  ASSERT_EQ(diff["tasks"].size(), 3u);
  for (const Json& task : diff["tasks"]) EXPECT_EQ(task["first"]["best_us"], task["second"]["best_us"]);
  EXPECT_NE(run({"db", "diff", path("m.db"), "1", "2"}).find("of 3 tasks moved beyond noise"), std::string::npos);
  run({"db", "diff", path("m.db"), "1", "9"}, 2);
  EXPECT_TRUE(says("no run 9")) << err_;
  const std::string key = run_json({"db", "best", path("m.db"), "--task", tasks_[0].key})["records"][0]["key"];
  const Json shown = run_json({"db", "show", path("m.db"), key.substr(0, 16)});
  EXPECT_EQ(shown["schema"], "warpwright.db-show/1");
  EXPECT_EQ(shown["key"], key);
  EXPECT_EQ(shown["workload_key"], tasks_[0].key);
  EXPECT_TRUE(shown["objections"].empty());
  run({"db", "show", path("m.db"), "zz"}, 2);
}

TEST_F(DbTest, DiffSaysWhatFailedAndWhatIsWorthTuningNext) {
  const auto database = open_database(path("t.db"), OpenMode::read_write);
  for (const double gain : {1.0, 1.25}) {
    const auto seed = static_cast<unsigned>(100 * gain);
    const int64_t run = database->begin_run({"digest", "card", seed, Json::object()}, "model").id;
    for (size_t i = 0; i < 3; ++i) {
      const std::vector<Config> configs = some_configs(tasks_[i], target_preset("rtx4090"), 4);
      const double us = std::vector<double>{76.25, 25, 23.75}[i];  // 61 %, 20 %, 19 %
      std::vector<Record> records{
          task_record(tasks_[i], configs[0], noisy(1.5 * us, 0.01, 20, seed)),
          task_record(tasks_[i], configs[1], noisy(i == 0 ? us / gain : us, 0.01, 20, seed + 1))};
      if (i == 1) records.push_back(failed_task_record(tasks_[i], configs[2], OutcomeKind::compile_error));
      if (i == 1) records.back().outcome.message = "refused: too many registers\nand more";
      for (Record& record : records) {
        record.run_id = run;
        database->add(record);
      }
    }
    database->end_run(run, "trials", Json::object());
  }
  database->close();
  const std::string text = run({"db", "diff", path("t.db"), "1", "2"});
  EXPECT_NE(text.find("1 of 3 tasks moved beyond noise\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1 compile_error in the second run, the first: refused: too many registers\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("worth tuning next: 2 of 3 tasks hold 78 % of the time:\n  --task " + tasks_[0].key),
            std::string::npos)
      << text;
  const Json back = run_json({"db", "diff", path("t.db"), "2", "1"});
  EXPECT_EQ(back["tasks"][0]["workload_key"], tasks_[0].key);
  EXPECT_EQ(back["tasks"][0]["change"], "slower");
  EXPECT_NEAR(back["tasks"][0]["share_of_time"].get<double>(), 0.61, 0.005);
  EXPECT_NE(run({"db", "diff", path("t.db"), "2", "1"}).find("worth tuning next: 1 of 3 tasks hold 61 % of the time:"),
            std::string::npos);
}

TEST_F(DbTest, ARunKeepsHowItWasStarted) {
  const std::string db = path("t.db");
  run({"tune", model_, "--shape", shape_, "--db", db, "--device", "virtual:rtx4090", "--trials", "1", "--json"});
  const std::string arguments = run_json({"db", "runs", db})["runs"][0]["arguments"];
  EXPECT_EQ(arguments,
            "tune " + model_ + " --shape " + shape_ + " --db " + db + " --device virtual:rtx4090 --trials 1 --json");
  EXPECT_EQ(run({"db", "export", db, "--anonymous"}).find(db), std::string::npos);
}

}  // namespace
}  // namespace warpwright
