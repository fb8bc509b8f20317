#!/usr/bin/env python3
"""Quantizes a float ONNX model to 8 bits (QDQ) with ONNX Runtime's quantizer and says how far it is from the float one.

Calibration data: FILE.npz holds for each input of the model an array of its name, whose first axis counts the samples;
a folder holds one .npz a sample batch (arrays as the model takes them) or, for models of one input, .npy files.
Run it by scripts/quantize, which brings the environment.
"""
import argparse
import logging
import os
import pathlib
import sys
import tempfile
import zipfile

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

METHODS = {"minmax": CalibrationMethod.MinMax, "percentile": CalibrationMethod.Percentile,
           "entropy": CalibrationMethod.Entropy}
LEAST_OPSET = 13
MASK = 1e30  # beyond this a value stands for infinity, as in attention masks, and no scale does it justice
MOST_BYTES_IN_ONE_FILE = 1_500_000_000  # protobuf ends at 2 GiB, and the float model is held beside the quantized one
PRODUCTS = ["Conv", "ConvTranspose", "Gemm", "MatMul"]
BIAS_INPUT = {"Conv": 2, "ConvTranspose": 2, "Gemm": 2}


class Fault(Exception):
    """Something that the user can put right."""


def parse():
    parser = argparse.ArgumentParser(prog="quantize", description=__doc__.split("\n")[0])
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument("--calibration", required=True, metavar="DIR|FILE.npz",
                        help="inputs to calibrate and compare on")
    parser.add_argument("--method", choices=METHODS, default="minmax")
    parser.add_argument("--symmetric", action="store_true",
                        help="signed activations with zero point 0 (default: unsigned)")
    parser.add_argument("--per-tensor", action="store_true", help="one weight scale a tensor (default: one a channel)")
    parser.add_argument("--products-only", action="store_true",
                        help="8 bits for what convolutions and matrix products read alone, as transformers want it")
    parser.add_argument("--exclude", action="append", default=[], metavar="NODE", help="leave this node in float")
    parser.add_argument("--external-data", action="store_true",
                        help="weights beside the model in OUT.onnx.data (by itself where they exceed 1.5 GB)")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.onnx")
    return parser.parse_args()


def open_session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def check_batch(batch, session, where):
    inputs = {each.name: each for each in session.get_inputs()}
    for missing in inputs.keys() - batch.keys():
        raise Fault(f"{where}: no array for the input '{missing}' (it has {', '.join(sorted(batch)) or 'none'})")
    dtypes = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
              "tensor(bool)": np.bool_}
    checked = {}
    for name, wanted in inputs.items():
        array = batch[name]
        fits = len(array.shape) == len(wanted.shape) and all(
            not isinstance(extent, int) or extent == got for extent, got in zip(wanted.shape, array.shape))
        if not fits:
            raise Fault(f"{where}: input '{name}' has shape {list(array.shape)}, the model wants {wanted.shape}")
        if array.dtype.kind not in "fiub":
            raise Fault(f"{where}: input '{name}' holds {array.dtype}, no numbers")
        if not np.all(np.isfinite(array)):
            raise Fault(f"{where}: input '{name}' holds NaN or infinity")
        checked[name] = array.astype(dtypes.get(wanted.type, array.dtype))
    return checked


def split_samples(arrays, session, where):
    """Batches as the model takes them: its fixed batch, else one sample each."""
    if not arrays:
        raise Fault(f"{where}: no arrays")
    lengths = {name: array.shape[0] if array.ndim > 0 else None for name, array in arrays.items()}
    if None in lengths.values() or len(set(lengths.values())) != 1:
        raise Fault(f"{where}: each array needs the same number of samples along its first axis: {lengths}")
    first = session.get_inputs()[0].shape
    step = first[0] if first and isinstance(first[0], int) else 1
    count = next(iter(lengths.values()))
    if count % step:
        print(f"the last {count % step} of {count} samples do not fill a batch of {step} and are left out")
    return [{name: array[i:i + step] for name, array in arrays.items()} for i in range(0, count - step + 1, step)]


def read_arrays(path):
    try:
        data = np.load(path, allow_pickle=False)
        return data if isinstance(data, np.ndarray) else dict(data)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = str(error).split(". ")[0]  # what NumPy goes on to advise is no advice for strangers' files
        raise Fault(f"--calibration {path}: {reason}") from error


def load_batches(path, session):
    path = pathlib.Path(path)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".npz", ".npy"))
        only = session.get_inputs()[0].name
        batches = [(f"--calibration {file}", data if isinstance(data, dict) else {only: data})
                   for file, data in ((file, read_arrays(file)) for file in files)]
    elif path.suffix == ".npz" and path.is_file():
        samples = split_samples(read_arrays(path), session, f"--calibration {path}")
        batches = [(f"--calibration {path}, batch {i}", batch) for i, batch in enumerate(samples)]
    else:
        raise Fault(f"--calibration {path}: neither a folder nor an .npz file")
    if not batches:
        raise Fault(f"--calibration {path}: no samples")
    return [check_batch(batch, session, name) for name, batch in batches]


class Batches(CalibrationDataReader):
    def __init__(self, batches):
        self.left = iter(batches)

    def get_next(self):
        return next(self.left, None)


def check_excluded(given, prepared, names):
    """`prepared`: the model as the quantizer sees it, with constants and batch normalizations folded."""
    left = {node.name for node in prepared.graph.node}
    known = {node.name for node in given.graph.node}
    for name in names:
        if name not in known:
            raise Fault(f"--exclude {name}: no node of that name")
        if name not in left:
            raise Fault(f"--exclude {name}: the node is folded into others before they are quantized")


def of_least_opset(path, work):
    """The model, converted where its opset is too old for scales of channels."""
    model = onnx.load(path, load_external_data=False)
    if all(each.version >= LEAST_OPSET for each in model.opset_import if each.domain in ("", "ai.onnx")):
        return path
    converted = work / "converted.onnx"
    onnx.save(onnx.version_converter.convert_version(onnx.load(path), LEAST_OPSET), converted)
    return str(converted)


def name_nodes(model):
    """Nodes are left in float by their names."""
    taken = {node.name for node in model.graph.node}
    for i, node in enumerate(model.graph.node):
        if not node.name:
            node.name = next(name for k in range(len(taken) + 1) if (name := f"{node.op_type}/{i + k}") not in taken)
            taken.add(node.name)


def give_each_product_its_bias(model):
    """A bias of one row becomes a vector, a shared one is repeated: the quantizer takes others wrongly."""
    constants = {each.name: each for each in model.graph.initializer}
    taken = set(constants) | {name for node in model.graph.node for name in node.output}
    used = set()
    for node in model.graph.node:
        slot = BIAS_INPUT.get(node.op_type)
        if slot is None or len(node.input) <= slot or node.input[slot] not in constants:
            continue
        bias = constants[node.input[slot]]
        row = len(bias.dims) > 1 and np.prod(bias.dims) == bias.dims[-1]
        if row or bias.name in used:
            copy = model.graph.initializer.add()
            copy.CopyFrom(bias)
            copy.name = next(name for i in range(len(taken) + 1) if (name := f"{bias.name}/{i}") not in taken)
            if row:
                copy.dims[:] = [bias.dims[-1]]
            node.input[slot] = copy.name
            taken.add(copy.name)
        used.add(node.input[slot])


def nodes_at_masks(prepared, batch, work):
    """Nodes that read or write a tensor with values that stand for infinity."""
    model = onnx.load(prepared)
    written = {name for node in model.graph.node for name in node.output if name}
    shown = written - {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in sorted(shown))
    watched = work / "watched.onnx"
    onnx.save(model, watched, save_as_external_data=True, location="watched.data")
    session = open_session(str(watched))
    names = [output.name for output in session.get_outputs() if output.type == "tensor(float)"]
    masks = {name for name, value in zip(names, session.run(names, batch)) if np.any(np.abs(value) > MASK)}
    return [node.name for node in model.graph.node if masks & {*node.input, *node.output}]


def weight_bytes(path):
    """Of the model and of what lies beside it."""
    path = pathlib.Path(path)
    model = onnx.load(path, load_external_data=False)
    names = {entry.value for tensor in model.graph.initializer for entry in tensor.external_data
             if entry.key == "location"}
    return path.stat().st_size + sum((path.parent / name).stat().st_size for name in names)


def quantize(arguments, batches, work):
    """Gives the files to move to the output's folder, the model last."""
    output = pathlib.Path(arguments.output)
    external = arguments.external_data or weight_bytes(arguments.model) > MOST_BYTES_IN_ONE_FILE
    prepared, result = work / "prepared.onnx", work / "quantized.onnx"
    quant_pre_process(of_least_opset(arguments.model, work), str(prepared), skip_symbolic_shape=True,
                      save_as_external_data=external)
    model = onnx.load(prepared)
    check_excluded(onnx.load(arguments.model, load_external_data=False), model, arguments.exclude)
    name_nodes(model)
    give_each_product_its_bias(model)
    onnx.save(model, prepared, save_as_external_data=external, location="prepared.data")
    left = nodes_at_masks(prepared, batches[0], work)
    if left:
        print(f"left in float, since their values stand for infinity: {', '.join(left)}")
    extra = {"ActivationSymmetric": arguments.symmetric, "WeightSymmetric": True}
    if arguments.products_only:
        extra["OpTypesToExcludeOutputQuantization"] = PRODUCTS
    activations = QuantType.QInt8 if arguments.symmetric else QuantType.QUInt8
    quantize_static(str(prepared), str(result), Batches(batches), quant_format=QuantFormat.QDQ,
                    activation_type=activations, weight_type=QuantType.QInt8, per_channel=not arguments.per_tensor,
                    calibrate_method=METHODS[arguments.method], nodes_to_exclude=arguments.exclude + left,
                    op_types_to_quantize=PRODUCTS if arguments.products_only else None,
                    use_external_data_format=external, extra_options=extra)
    if not external:
        os.rename(result, work / output.name)
        return [work / output.name]
    data = work / (output.name + ".data")
    onnx.save(onnx.load(result), work / output.name, save_as_external_data=True, location=data.name)
    return [data, work / output.name] if data.exists() else [work / output.name]


def signal_to_noise_db(exact, got):
    finite = np.isfinite(exact) & np.isfinite(got)
    if not finite.all():
        return float("nan")
    noise = float(np.sum(np.square(exact - got, dtype=np.float64)))
    signal = float(np.sum(np.square(exact, dtype=np.float64)))
    return float("inf") if noise == 0 else 10 * np.log10(max(signal, 1e-300) / noise)


def report(model, quantized, batches):
    exact, got = open_session(model), open_session(quantized)
    pairs = [(exact.run(None, batch), got.run(None, batch)) for batch in batches]
    print(f"{len(batches)} batches; quantized against float:")
    for i, output in enumerate(exact.get_outputs()):
        a, b = (np.concatenate([np.ravel(pair[side][i]) for pair in pairs]).astype(np.float64) for side in (0, 1))
        line = f"  {output.name}: signal to noise {signal_to_noise_db(a, b):.1f} dB"
        last = pairs[0][0][i].shape
        if len(last) >= 2 and last[-1] > 1:
            same = np.mean(a.reshape(-1, last[-1]).argmax(1) == b.reshape(-1, last[-1]).argmax(1))
            line += f", top-1 agreement {100 * same:.1f} % (last axis)"
        print(line)


def check_paths(model, output):
    if not model.is_file():
        raise Fault(f"{model}: no such file")
    if not output.parent.is_dir():
        raise Fault(f"-o {output}: there is no folder {output.parent}")
    if output.is_dir():
        raise Fault(f"-o {output}: a folder of that name is in the way")
    if output.resolve() == model.resolve():
        raise Fault(f"-o {output}: that is the model itself")


def main():
    arguments = parse()
    logging.disable(logging.WARNING)
    onnxruntime.set_default_logger_severity(3)
    output = pathlib.Path(arguments.output)
    try:
        check_paths(pathlib.Path(arguments.model), output)
        session = open_session(arguments.model)
        batches = load_batches(arguments.calibration, session)
        with tempfile.TemporaryDirectory(dir=output.parent, prefix=".quantize.") as work:
            files = quantize(arguments, batches, pathlib.Path(work))
            report(arguments.model, str(files[-1]), batches)
            for file in files:
                os.replace(file, output.parent / file.name)
    except (Fault, OSError) as error:
        sys.exit(f"quantize: {error}")
    except Exception as error:  # the libraries throw what they like; a user gets one line
        text = " ".join(str(error).split())
        sys.exit(f"quantize: {arguments.model}: ONNX Runtime gave up: {type(error).__name__}: {text}")
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
