#!/usr/bin/env python3
"""How good are the defaults, and does the search pay? Compares, task by task,

  best    the fastest of the random Configs in CSV (benchmarks/random_configs)
  default the default Config, from the same file
  tuned   the fastest record of a tuned database
  prior   how well the analytic estimate ranks the random Configs (Spearman), and the time of the one that it ranks first

    search_quality.py PROGRAM CSV [DB] > TABLE.md

Standard library only. A task in the database that the CSV lacks is an error.
"""
import csv
import json
import math
import subprocess
import sys


def random_configs(path):
    """Task key -> weight, default us, random Configs as (measured us, estimated us), how many failed."""
    tasks = {}
    with open(path, newline="") as file:
        for key, weight, which, us, outcome, _, estimate in csv.reader(file):
            entry = tasks.setdefault(key, {"weight": int(weight), "default": None, "random": [], "failed": 0})
            if outcome != "ok":
                entry["failed"] += 1
            elif which == "default":
                entry["default"] = float(us)
            else:
                entry["random"].append((float(us), float(estimate)))
    return tasks


def tuned(path, program):
    """Task key -> (best us, trials), as `warpwright db list --json` tells."""
    text = subprocess.run([program, "db", "list", path, "--json", "--limit", "1000000"], check=True,
                          capture_output=True, text=True).stdout
    best = {}
    for record in json.loads(text)["records"]:
        entry = best.setdefault(record["workload_key"], [math.inf, 0])
        entry[1] += 1
        if record["outcome"] == "ok":
            entry[0] = min(entry[0], record["median_us"])
    return best


def ranks(values):
    """Ranks from 0, equal values at the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for i in order[first:last + 1]:
            rank[i] = (first + last) / 2
        first = last + 1
    return rank


def spearman(pairs):
    a, b = ranks([x for x, _ in pairs]), ranks([y for _, y in pairs])
    mean = (len(pairs) - 1) / 2
    covariance = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    spread = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return covariance / spread if spread else 0.0


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: search_quality.py PROGRAM CSV [DB]")
    program, tasks = sys.argv[1], random_configs(sys.argv[2])
    best_tuned = tuned(sys.argv[3], program) if len(sys.argv) == 4 else None
    print("| task | weight | random ok | best of random us | default us | default / best | Spearman of prior | first by prior / best |"
          + (" tuned us | tuned / best |" if best_tuned else ""))
    print("|---|---|---|---|---|---|---|---|" + ("---|---|" if best_tuned else ""))
    to_default, to_first, to_tuned, correlations = [], [], [], []
    for key, task in tasks.items():
        best = min(us for us, _ in task["random"])
        first = min(task["random"], key=lambda pair: pair[1])[0]
        to_default.append(task["default"] / best)
        to_first.append(first / best)
        correlations.append(spearman(task["random"]))
        line = (f"| {key[:11]} | {task['weight']} | {len(task['random'])} | {best:.2f} | {task['default']:.2f} | "
                f"{to_default[-1]:.2f} | {correlations[-1]:.2f} | {to_first[-1]:.2f} |")
        if best_tuned:
            found = best_tuned[key][0]
            to_tuned.append(found / best)
            line += f" {found:.2f} | {to_tuned[-1]:.3f} |"
        print(line)
    print()
    near = sum(ratio <= 1.5 for ratio in to_default)
    print(f"default within 1.5 times the best of the random ones: {near} of {len(tasks)} tasks; "
          f"default / best, geometric mean: {geometric_mean(to_default):.3f}")
    print(f"prior: mean Spearman {sum(correlations) / len(correlations):.3f}; "
          f"first by prior / best, geometric mean: {geometric_mean(to_first):.3f}")
    if best_tuned:
        print(f"tuned / best of random, geometric mean: {geometric_mean(to_tuned):.4f}")


if __name__ == "__main__":
    main()
