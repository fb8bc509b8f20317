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

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

METHODS = {"minmax": CalibrationMethod.MinMax, "percentile": CalibrationMethod.Percentile,
           "entropy": CalibrationMethod.Entropy}
LEAST_OPSET = 13


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
    return [{name: array[i:i + step] for name, array in arrays.items()} for i in range(0, count - step + 1, step)]


def load_batches(path, session):
    path = pathlib.Path(path)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".npz", ".npy"))
        batches = [(str(file), np.load(file, allow_pickle=False)) for file in files]
        only = session.get_inputs()[0].name
        batches = [(name, {only: data} if isinstance(data, np.ndarray) else dict(data)) for name, data in batches]
    elif path.suffix == ".npz" and path.is_file():
        with np.load(path, allow_pickle=False) as data:
            batches = [(f"{path}, batch {i}", batch) for i, batch in enumerate(split_samples(dict(data), session))]
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
    model = onnx.load(path)
    if all(each.version >= LEAST_OPSET for each in model.opset_import if each.domain in ("", "ai.onnx")):
        return path
    converted = work / "converted.onnx"
    onnx.save(onnx.version_converter.convert_version(model, LEAST_OPSET), converted)
    return str(converted)


def quantize(arguments, batches, work):
    prepared = work / "prepared.onnx"
    quant_pre_process(of_least_opset(arguments.model, work), str(prepared), skip_symbolic_shape=True)
    check_excluded(onnx.load(prepared, load_external_data=False), arguments.exclude)
    result = work / "quantized.onnx"
    activations = QuantType.QInt8 if arguments.symmetric else QuantType.QUInt8
    quantize_static(str(prepared), str(result), Batches(batches), quant_format=QuantFormat.QDQ,
                    activation_type=activations, weight_type=QuantType.QInt8, per_channel=not arguments.per_tensor,
                    calibrate_method=METHODS[arguments.method], nodes_to_exclude=arguments.exclude,
                    extra_options={"ActivationSymmetric": arguments.symmetric, "WeightSymmetric": True})
    return result


def signal_to_noise_db(exact, got):
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
        session = open_session(arguments.model)
        batches = load_batches(arguments.calibration, session)
        with tempfile.TemporaryDirectory(dir=output.parent, prefix=".quantize.") as work:
            result = quantize(arguments, batches, pathlib.Path(work))
            report(arguments.model, str(result), batches)
            os.replace(result, output)
    except Exception as error:  # the libraries throw what they like; a user gets one line
        if not isinstance(error, (Fault, OSError, ValueError)) and "onnx" not in type(error).__module__:
            raise
        sys.exit(f"quantize: {error}")
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
