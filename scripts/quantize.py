#!/usr/bin/env python3
"""Quantizes a float ONNX model to 8 bits (QDQ) with ONNX Runtime's quantizer and says how far it is from the float one.

Calibration data: FILE.npz holds for each input of the model an array of its name, whose first axis counts the samples;
a folder holds one .npz a sample batch (arrays as the model takes them) or, for models of one input, .npy files.
Run it by scripts/quantize, which brings the environment.
"""
import argparse
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
MOST_BYTES_IN_ONE_FILE = 1_500_000_000  # protobuf ends at 2 GiB, and the float model is held beside the quantized one
BIAS_INPUT = {"Conv": 2, "ConvTranspose": 2, "Gemm": 2}


class Fault(Exception):
    """Something that the user can put right."""


def parse():
    parser = argparse.ArgumentParser(prog="quantize", description=__doc__.split("\n")[0])
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument("--calibration", required=True, metavar="DIR|FILE.npz", help="inputs to calibrate and compare on")
    parser.add_argument("--method", choices=METHODS, default="minmax")
    parser.add_argument("--symmetric", action="store_true", help="signed activations with zero point 0 (default: unsigned)")
    parser.add_argument("--per-tensor", action="store_true", help="one weight scale a tensor (default: one a channel)")
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
    for name, wanted in inputs.items():
        shape = batch[name].shape
        fits = len(shape) == len(wanted.shape) and all(
            not isinstance(extent, int) or extent == got for extent, got in zip(wanted.shape, shape))
        if not fits:
            raise Fault(f"{where}: input '{name}' has shape {list(shape)}, the model wants {wanted.shape}")
    dtypes = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}
    return {name: batch[name].astype(dtypes.get(each.type, batch[name].dtype)) for name, each in inputs.items()}


def split_samples(arrays, session):
    """Batches as the model takes them: its fixed batch, else one sample each."""
    lengths = {name: len(array) for name, array in arrays.items() if array.ndim > 0}
    if len(set(lengths.values())) != 1:
        raise Fault(f"the arrays differ in their number of samples: {lengths}")
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
        raise Fault(f"--calibration {path}: {error}") from error


def load_batches(path, session):
    path = pathlib.Path(path)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".npz", ".npy"))
        only = session.get_inputs()[0].name
        batches = [(str(file), data if isinstance(data, dict) else {only: data})
                   for file, data in ((file, read_arrays(file)) for file in files)]
    elif path.suffix == ".npz" and path.is_file():
        batches = [(f"{path}, batch {i}", batch) for i, batch in enumerate(split_samples(read_arrays(path), session))]
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


def check_excluded(model, names):
    known = {node.name for node in model.graph.node}
    for name in names:
        if name not in known:
            raise Fault(f"--exclude {name}: no node of that name")


def of_least_opset(path, work):
    """The model, converted where its opset is too old for scales of channels."""
    model = onnx.load(path, load_external_data=False)
    if all(each.version >= LEAST_OPSET for each in model.opset_import if each.domain in ("", "ai.onnx")):
        return path
    converted = work / "converted.onnx"
    onnx.save(onnx.version_converter.convert_version(onnx.load(path), LEAST_OPSET), converted)
    return str(converted)


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
    check_excluded(model, arguments.exclude)
    give_each_product_its_bias(model)
    onnx.save(model, prepared, save_as_external_data=external, location="prepared.data")
    activations = QuantType.QInt8 if arguments.symmetric else QuantType.QUInt8
    quantize_static(str(prepared), str(result), Batches(batches), quant_format=QuantFormat.QDQ,
                    activation_type=activations, weight_type=QuantType.QInt8, per_channel=not arguments.per_tensor,
                    calibrate_method=METHODS[arguments.method], nodes_to_exclude=arguments.exclude,
                    use_external_data_format=external,
                    extra_options={"ActivationSymmetric": arguments.symmetric, "WeightSymmetric": True})
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


def main():
    arguments = parse()
    output = pathlib.Path(arguments.output)
    try:
        if not output.parent.is_dir():
            raise Fault(f"-o {output}: there is no folder {output.parent}")
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
