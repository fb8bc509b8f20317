#!/usr/bin/env python3
"""How good are the defaults, and does the search pay? Compares, task by task,

  best    the fastest of the random Configs in CSV (benchmarks/random_configs)
  default the default Config, from the same file
  tuned   the fastest record of a tuned database

    search_quality.py PROGRAM CSV DB > TABLE.md

Standard library only. A task in the database that the CSV lacks is an error.
"""
import csv
import json
import math
import subprocess
import sys


def random_configs(path):
    """Task key -> (weight, default us, list of random us)."""
    tasks = {}
    with open(path, newline="") as file:
        for key, weight, which, us, outcome, config in csv.reader(file):
            entry = tasks.setdefault(key, {"weight": int(weight), "default": None, "random": [], "failed": 0})
            if outcome != "ok":
                entry["failed"] += 1
            elif which == "default":
                entry["default"] = float(us)
            else:
                entry["random"].append(float(us))
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


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: search_quality.py PROGRAM CSV DB")
    program, tasks, database = sys.argv[1], random_configs(sys.argv[2]), sys.argv[3]
    best_tuned = tuned(database, program)
    print("| task | weight | random ok | best of random us | default us | default / best | tuned us | tuned / best |")
    print("|---|---|---|---|---|---|---|---|")
    ratios, near = [], 0
    for key, task in tasks.items():
        best = min(task["random"])
        default, found = task["default"], best_tuned[key][0]
        near += default <= 1.5 * best
        ratios.append(math.log(found / best))
        print(f"| {key[:11]} | {task['weight']} | {len(task['random'])} | {best:.2f} | {default:.2f} | "
              f"{default / best:.2f} | {found:.2f} | {found / best:.3f} |")
    print()
    print(f"default within 1.5 times the best of the random ones: {near} of {len(tasks)} tasks")
    print(f"tuned / best of random, geometric mean: {math.exp(sum(ratios) / len(ratios)):.4f}")


if __name__ == "__main__":
    main()
