#!/usr/bin/env python3
"""Prints how many rows of SCORES.npy have their largest score at the label in LABELS.npy. Standard library only."""
import array
import ast
import struct
import sys


def load(path):
    """The elements of a version 1 .npy file of float32 or int32, and its shape."""
    with open(path, "rb") as file:
        magic, _, length = struct.unpack("<6sHH", file.read(10))
        assert magic == b"\x93NUMPY", f"{path} is no .npy file"
        header = ast.literal_eval(file.read(length).decode())
        elements = array.array({"<f4": "f", "<i4": "i"}[header["descr"]])
        elements.frombytes(file.read())
    return elements, header["shape"]


def main():
    scores, (rows, classes) = load(sys.argv[1])
    labels, _ = load(sys.argv[2])
    best = [max(range(classes), key=lambda c: scores[row * classes + c]) for row in range(rows)]
    right = sum(b == label for b, label in zip(best, labels))
    print(f"accuracy on held-out digits: {right} of {rows} ({100 * right / rows:.1f} %)")


if __name__ == "__main__":
    main()
