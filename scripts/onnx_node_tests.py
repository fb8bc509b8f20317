#!/usr/bin/env python3
"""Runs the node tests of the onnx package (onnx/backend/test/data/node) through the warpwright program.

    scripts/onnx_node_tests.py --program build/release/bin/warpwright          checks against the committed table
    scripts/onnx_node_tests.py --program ... --write                           writes the table and the document anew
    scripts/onnx_node_tests.py --program ... --folder DIR    another folder of such tests

A test passes when every output has the right type, shape and values: integers exactly, floats within the tolerance that
the package itself tests with (1e-3 relative, 1e-7 absolute). A refusal (exit status 2) must name the node. Anything else
is a fault. Inputs that the operator needs as constants (shapes, axes, weights, scales) are made initializers. Run it in
the environment of scripts/quantize (build/quantize/bin/python), which has the onnx package.
"""
import argparse
import collections
import concurrent.futures
import csv
import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests/data/onnx_node_tests.csv"
DOCUMENT = ROOT / "docs/onnx_operators.md"
INPUT_TYPES = {"float32", "float16", "int64", "int32", "int8", "uint8", "bool"}
RTOL, ATOL = 1e-3, 1e-7

WRAPS = "a recorded value wraps around where the operator saturates; later versions of the package record the saturated one"
EXTENT = "the recorded values count with an output extent that is no whole number"

# Tests whose recorded values are wrong or not those of the present specification; ONNX Runtime and this program agree on
# others.
DEVIATING = {
    "test_l2normalization_axis_0": "0 / 0: the recorded NaN is a 0 in later versions of the specification",
    "test_qlinearmatmul_2D_int8_float16": WRAPS,
    "test_qlinearmatmul_2D_int8_float32": WRAPS,
    "test_qlinearmatmul_3D_int8_float16": WRAPS,
    "test_qlinearmatmul_3D_int8_float32": WRAPS,
    "test_resize_downsample_scales_cubic_align_corners": EXTENT,
    "test_resize_downsample_scales_linear_align_corners": EXTENT,
}

# Inputs by number that must be constants here; "1-" means all from 1 on.
CONSTANT_INPUTS = {
    "Reshape": "1", "Expand": "1", "Tile": "1", "Slice": "1-", "Pad": "1-", "Squeeze": "1", "Unsqueeze": "1",
    "Split": "1", "Resize": "1-", "Upsample": "1", "Trilu": "1", "OneHot": "1-", "Conv": "1-", "ConvTranspose": "1-",
    "QLinearConv": "1-", "ConvInteger": "1",
    "Dropout": "1-", "CumSum": "1", "ConstantOfShape": "0", "Range": "0-", "CenterCropPad": "1",
}


def constant_inputs(model):
    names = set()
    for node in model.graph.node:
        slots = CONSTANT_INPUTS.get(node.op_type)
        if node.op_type.startswith("Reduce"):
            slots = "1"
        if node.op_type == "QLinearMatMul":
            names.update(node.input[i] for i in (1, 2, 4, 5, 6, 7))
        if not slots:
            continue
        first = int(slots.rstrip("-"))
        last = len(node.input) if slots.endswith("-") else first + 1
        names.update(n for n in node.input[first:last] if n)
    return names


def read_tensors(folder, kind, values):
    tensors = []
    for i, value in enumerate(values):
        if value.type.WhichOneof("value") != "tensor_type":
            raise ValueError(f"\"{value.name}\" is no tensor")
        proto = onnx.TensorProto()
        proto.ParseFromString((folder / f"{kind}_{i}.pb").read_bytes())
        proto.name = value.name
        tensors.append((value.name, proto))
    return tensors


def difference(got, want):
    if got is None:
        return "an output is missing"
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if want.dtype.kind in "iub":
        return None if np.array_equal(got, want) else f"{np.count_nonzero(got != want)} of {got.size} differ"
    close = np.isclose(got, want, rtol=RTOL, atol=ATOL, equal_nan=True)
    return None if close.all() else f"{np.count_nonzero(~close)} of {got.size} differ"


def run(program, folder):
    """Returns (result, reason); result is passed, refused, deviates (see DEVIATING) or fault."""
    model = onnx.load(folder / "model.onnx")
    data = folder / "test_data_set_0"
    with tempfile.TemporaryDirectory() as temporary:
        try:
            inputs = read_tensors(data, "input", model.graph.input)
            outputs = read_tensors(data, "output", model.graph.output)
        except (ValueError, FileNotFoundError):
            inputs, outputs = [], []  # no tensors: to be refused
        constants = constant_inputs(model)
        arguments = []
        for i, (name, proto) in enumerate(inputs):
            if name in constants:
                model.graph.initializer.append(proto)
                continue
            file = os.path.join(temporary, f"in{i}.npy")
            try:
                array = numpy_helper.to_array(proto)
            except (ValueError, TypeError):
                continue  # a type that NumPy does not hold: to be refused
            if array.dtype.name not in INPUT_TYPES:
                continue  # to be refused by the name of the input
            np.save(file, array, allow_pickle=False)
            arguments += ["--input", f"{name}={file}"]
        path = os.path.join(temporary, "model.onnx")
        onnx.save(model, path)
        out = os.path.join(temporary, "out")
        call = subprocess.run([program, "run", path, "--output", out, *arguments], capture_output=True, text=True,
                              timeout=300)
        text = (call.stderr + call.stdout).strip()
        if call.returncode == 2:
            return "refused", text
        if call.returncode != 0:
            return "fault", f"exit status {call.returncode}: {text[-200:]}"
        for name, proto in outputs:
            safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
            file = os.path.join(out, safe + ".npy")
            fault = difference(np.load(file) if os.path.exists(file) else None, numpy_helper.to_array(proto))
            if fault and folder.name in DEVIATING:
                return "deviates", DEVIATING[folder.name]
            if fault:
                return "fault", f"output {name}: {fault}"
        return "passed", ""


def reason_of(text):
    """The reason alone, of the first part that is refused, without names and numbers of the one model."""
    text = re.sub(r"^(warpwright: )?(error: )?", "", text.replace("\n  ", " ").splitlines()[0] if text else "no text")
    text = re.sub(r"^the model has \d+ parts? that cannot be taken: *", "", text)
    text = re.sub(r"^node '[^']*' \(([^)]*)\): ", r"\1: ", text).split("; node '")[0].split("; graph input")[0]
    text = text.split("; extract and tune take the rest")[0]
    text = re.sub(r'"[^"]*"', '"..."', text)
    return re.sub(r"/[^ ']*/", "", text)[:160]


def operator_of(folder):
    """The operator that the folder's name begins with, however it is written."""
    model = onnx.load(folder / "model.onnx")
    types = collections.Counter(n.op_type for n in model.graph.node)
    name = folder.name.removeprefix("test_").replace("_", "").lower()
    named = [t for t in types if name.startswith(t.lower())]
    return max(named, key=len) if named else sorted(types, key=lambda t: (-types[t], t))[0] if types else "-"


def write_document(results):
    operators = collections.defaultdict(list)
    for folder, (result, reason) in results.items():
        text = reason_of(reason) if result == "refused" else reason
        operators[operator_of(folder)].append((result, text))
    counts = collections.Counter(r for r, _ in results.values())
    lines = ["# ONNX operators", "",
             f"The node tests of the onnx package {onnx.__version__} through the reference: {counts['passed']} of "
             f"{len(results)} pass, {counts['refused']} are refused by name, {counts['deviates']} have recorded values that "
             f"are wrong or outdated, {counts['fault']} are faults. Written by `scripts/onnx_node_tests.py --write`; the result "
             "of each test stands in `tests/data/onnx_node_tests.csv`.",
             "", "| operator of the test | pass | others | why they are refused or deviate (a count where there are several) |",
             "|---|---|---|---|"]
    for operator in sorted(operators):
        runs = operators[operator]
        reasons = collections.Counter(reason for result, reason in runs if result != "passed")
        text = "; ".join((f"{n}x " if n > 1 else "") + reason for reason, n in reasons.most_common())
        passed = sum(result == "passed" for result, _ in runs)
        lines.append(f"| {operator} | {passed} | {sum(reasons.values())} | {text.replace('|', '/')} |")
    DOCUMENT.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--only", default="", help="tests whose name holds this")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    folder = options.folder or pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
    tests = sorted(p.parent for p in folder.glob("*/model.onnx") if options.only in p.parent.name)
    if not tests:
        print(f"skipped: no tests in {folder}")
        return 77
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = dict(zip(tests, pool.map(lambda test: run(options.program, test), tests)))
    counts = collections.Counter(result for result, _ in results.values())
    for test, (result, reason) in results.items():
        if result == "fault" or options.only:
            print(f"{test.name}: {result} {reason}")
    print(", ".join(f"{counts[result]} {result}" for result in ("passed", "refused", "deviates", "fault")))
    if options.write:
        with TABLE.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [["onnx", onnx.__version__]] + [[test.name, results[test][0]] for test in tests])
        write_document(results)
    failed = counts["fault"] > 0
    if not options.write and not options.only and not options.folder:
        with TABLE.open() as file:
            rows = list(csv.reader(file))
        known = dict(rows[1:])
        if rows[0][1] == onnx.__version__:
            worse = [t.name for t in tests if known.get(t.name) == "passed" and results[t][0] != "passed"]
            better = [t.name for t in tests if known.get(t.name) != "passed" and results[t][0] == "passed"]
            for name in worse + better:
                print(f"{name}: the table says {known.get(name)}")
            failed = failed or worse or better
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
