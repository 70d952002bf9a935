#!/usr/bin/env python3
# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes the shipped digits as files like MNIST's, for programs that read those. Needs h5py (python3-h5py).

usage: digits_as_idx.py [FOLDER]

FOLDER (digits-idx) gets train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz and the same with t10k: the 1408 and
389 images of ../digits.h5, whose 8x8 grey levels 0..16 become 28x28 of 0..255. As in MNIST the digit lies in the middle
of an empty edge: each of its pixels becomes 2x2, without interpolation, so that everybody gets the same bytes. (Spread over
all of the 28x28 they are so strong together that with the documents' rate of 0.01 rounding decides the losses: numpy's own
with float32 and float64 differ by 0.1 after 190 steps. As they are here by 2e-6.)
"""
import gzip
import pathlib
import struct
import sys

try:
    import h5py
    import numpy
except ImportError as missing:
    sys.exit(f"digits_as_idx.py: {missing}; it needs h5py and numpy (Debian: python3-h5py, for /usr/bin/python3)")

SIDE = 28
EDGE = 6


def write_idx(path, values):
    """Y. LeCun's format: two zero bytes, 8 for unsigned bytes, number of dimensions, sizes as big endian, values."""
    head = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    path.write_bytes(gzip.compress(head + values.astype(numpy.uint8).tobytes(), mtime=0))


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "digits-idx")
    folder.mkdir(parents=True, exist_ok=True)
    with h5py.File(pathlib.Path(__file__).resolve().parents[1] / "digits.h5") as digits:
        for part, name in (("train", "train"), ("test", "t10k")):
            grey = digits[f"{part}/x"][:].reshape(-1, 8, 8).astype(int) * 255 // 16
            images = numpy.pad(grey.repeat(2, axis=1).repeat(2, axis=2), ((0, 0), (EDGE, EDGE), (EDGE, EDGE)))
            write_idx(folder / f"{name}-images-idx3-ubyte.gz", images)
            write_idx(folder / f"{name}-labels-idx1-ubyte.gz", digits[f"{part}/y"][:])
            print(f"{folder}: {len(grey)} images of {SIDE}x{SIDE} for {'training' if part == 'train' else 'tests'}")


if __name__ == "__main__":
    main()
