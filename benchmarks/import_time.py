#!/usr/bin/env python3
"""Time and peak memory of importing and lowering large models, side by side.

    benchmarks/import_time.py PROGRAM [--megabytes 300] [--folder DIR] [--model FILE.onnx]... [--huge]

Makes its models itself (convolutions and matrix products in 8 bits, weights once inside the file and once beside it),
runs PROGRAM (build/release/benchmarks/import_time) on each and prints a table: medians of three runs in seconds, peak
resident memory, and what that is to the model's size. --model adds models that exist; --huge adds one of 2.5 GB with
its weights beside it. The models are removed in the end; --folder says where they are meanwhile.
"""
import argparse
import os
import re
import statistics
import subprocess
import tempfile

FLOAT, UINT8, INT8 = 1, 2, 3


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name, kind, dims, raw=None, external=None):
    head = b"".join(number(1, d) for d in dims) + number(2, kind) + block(8, name)
    if external is None:
        return head + block(9, raw)
    entries = {"location": external[0], "offset": str(external[1]), "length": str(external[2])}
    return head + b"".join(block(13, block(1, k) + block(2, v)) for k, v in entries.items()) + number(14, 1)


def node(op_type, inputs, output):
    names = b"".join(block(1, name) for name in inputs) + block(2, output)
    return block(1, names + block(3, "node_" + output) + block(4, op_type))


def value_info(name, kind, dims):
    shape = b"".join(block(1, number(1, d)) for d in dims)
    return block(1, name) + block(2, block(1, number(1, kind) + block(2, shape)))


def weight_bytes(count, seed):
    """Weights of some variety at the speed of a copy."""
    piece = bytes((i * 37 + seed * 11) % 251 for i in range(1 << 16))
    return (piece * (count // len(piece) + 1))[:count]


def write_model(path, kind, layers, width, beside, holes=False):
    """A chain of `layers` products of `width` channels; weights inside the file or in data.bin `beside` it."""
    dims = [width, width, 3, 3] if kind == "conv" else [width, width]
    count = width * width * (9 if kind == "conv" else 1)
    scale = b"\x00\x00\x80\x3c"  # 1 / 64
    nodes, x = [], "x"
    data_path = path.replace(".onnx", ".bin")
    with open(path, "wb") as model, open(data_path, "wb") as data:
        parts = [block(5, tensor("scale", FLOAT, [], scale))]
        for i in range(layers):
            name, offset = f"w{i}", i * count
            if not beside:
                parts.append(block(5, tensor(name, INT8, dims, weight_bytes(count, i))))
            else:
                parts.append(block(5, tensor(name, INT8, dims, external=(os.path.basename(data_path), offset, count))))
                if holes:
                    data.truncate(offset + count)
                else:
                    data.write(weight_bytes(count, i))
            nodes += [node("DequantizeLinear", [x, "scale"], f"r{i}"), node("DequantizeLinear", [name, "scale"], f"v{i}"),
                      node("Conv" if kind == "conv" else "MatMul", [f"r{i}", f"v{i}"], f"p{i}"),
                      node("QuantizeLinear", [f"p{i}", "scale"], f"q{i}")]
            x = f"q{i}"
        extent = 3 + 2 * layers
        shape = [1, width, extent, extent] if kind == "conv" else [8, width]
        ends = block(2, "chain") + block(11, value_info("x", UINT8, shape)) + block(12, block(1, x))
        length = sum(map(len, parts)) + sum(map(len, nodes)) + len(ends)
        model.write(number(1, 8) + block(8, number(2, 13)) + varint(7 << 3 | 2) + varint(length))
        for part in nodes + parts + [ends]:
            model.write(part)
    if not beside:
        os.remove(data_path)
    return os.path.getsize(path) + (os.path.getsize(data_path) if beside else 0)


def measure(program, model):
    """Seconds of import, of the passes, of the processor, and peak bytes."""
    result = subprocess.run([program, model], check=True, capture_output=True, text=True).stdout
    found = re.search(r"import ([0-9.]+) s, passes ([0-9.]+) s, processor ([0-9.]+) s, peak ([0-9]+)", result)
    return float(found[1]), float(found[2]), float(found[3]), int(found[4]) * 1024


def row(program, name, model, size, runs=3):
    imports, passes, processor, peaks = zip(*(measure(program, model) for _ in range(runs)))
    print(f"| {name} | {size / 1e6:.0f} | {statistics.median(imports):.2f} | {statistics.median(passes):.2f} | "
          f"{statistics.median(processor):.2f} | "
          f"{max(peaks) / 1e6:.0f} | {max(peaks) / size:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--folder")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--huge", action="store_true")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    print("| model | MB | import s | passes s | processor s | peak MB | peak / size |\n|---|---|---|---|---|---|---|")
    for model in options.model:
        row(program, os.path.basename(os.path.dirname(os.path.abspath(model))), model, os.path.getsize(model))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for kind, width, layer_bytes in (("conv", 512, 512 * 512 * 9), ("matmul", 4096, 4096 * 4096)):
            layers = -(-options.megabytes * 10**6 // layer_bytes)
            for beside in (False, True):
                path = os.path.join(folder, f"{kind}_{beside}.onnx")
                size = write_model(path, kind, layers, width, beside)
                row(program, f"{kind}, {layers} layers, weights {'beside' if beside else 'inside'}", path, size)
        if options.huge:
            path = os.path.join(folder, "huge.onnx")
            size = write_model(path, "matmul", 150, 4096, True, holes=True)
            row(program, "matmul, 150 layers, weights beside", path, size, runs=1)


if __name__ == "__main__":
    main()
