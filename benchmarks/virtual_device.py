#!/usr/bin/env python3
"""Whole networks on a virtual device: seconds in fast and in checked mode side by side, and where a trial's time goes.

    virtual_device.py PROGRAM MODEL --shape NAME=DIMS --input NAME=x.npy [--device virtual:rtx4090] [--rounds 3]

Builds a package of defaults in a temporary folder, runs it in both modes in turn (medians), then tunes with a few trials
a task and prints the split that `tune --json` reports. Standard library only.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time


def seconds(command):
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--shape", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--device", default="virtual:rtx4090")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trials-per-task", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        package = str(out / "model.pkg")
        build = [options.program, "build", options.model, "--shape", options.shape, "--target",
                 options.device.removeprefix("virtual:"), "-o", package]
        print(f"build of defaults: {seconds(build):.1f} s")
        run = [options.program, "run", package, "--device", options.device, "--input", options.input, "--output", folder]
        fast, checked = [], []
        for _ in range(options.rounds):
            fast.append(seconds([*run, "--fast"]))
            checked.append(seconds(run))
        ratio = statistics.median(c / f for c, f in zip(checked, fast))
        print(f"whole network, fast: median {statistics.median(fast):.2f} s of {options.rounds}")
        print(f"whole network, every check on: median {statistics.median(checked):.2f} s, {ratio:.2f} times fast")
        tune = [options.program, "tune", options.model, "--shape", options.shape, "--device", options.device, "--db",
                str(out / "t.db"), "--trials-per-task", str(options.trials_per_task), "--json"]
        summary = json.loads(subprocess.run(tune, check=True, capture_output=True, text=True).stdout)
        spent = summary["seconds"]
        whole = sum(spent[part] for part in ("compile", "verify", "run"))
        print(f"{summary['trials']} trials: " + ", ".join(
            f"{part} {100 * spent[part] / whole:.1f} %" for part in ("compile", "verify", "run")) +
            f"; idle {100 * spent['idle'] / spent['wall']:.1f} % of the time")


if __name__ == "__main__":
    main()
