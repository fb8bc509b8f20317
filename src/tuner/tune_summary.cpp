// A TuneSummary as JSON: what the run's row keeps and `tune --json` prints.
#include "src/tuner/tuner.h"

namespace warpwright {
namespace {

Json to_json(const PairedGain& gain) {
  return {
      {"rounds", gain.rounds}, {"gain", gain.gain}, {"low", gain.low}, {"high", gain.high}, {"chance", gain.chance}};
}

Json to_json(const TaskProgress& task) {
  return {{"key", task.task_key},
          {"weight", task.weight},
          {"trials", task.trials},
          {"ok", task.ok},
          {"failures", task.failures},
          {"default_us", task.default_us},
          {"best_us", task.best_us},
          {"default_spread", task.default_spread},
          {"best_spread", task.best_spread},
          {"best", task.best_us > 0 ? to_json(task.best) : Json()},
          {"gain", task.gain ? to_json(*task.gain) : Json()},
          {"drift", task.drift},
          {"state", task.state}};
}

}  // namespace

Json to_json(const TuneSummary& summary) {
  Json tasks = Json::array();
  for (const TaskProgress& task : summary.tasks) tasks.push_back(to_json(task));
  return {{"trials", summary.trials},
          {"measured", summary.measured},
          {"retracted", summary.retracted},
          {"end_reason", summary.end_reason},
          {"tasks", tasks},
          {"seconds",
           {{"compile", summary.seconds.compile},
            {"verify", summary.seconds.verify},
            {"run", summary.seconds.run},
            {"wall", summary.wall_seconds},
            {"idle", summary.idle_seconds}}}};
}

}  // namespace warpwright
