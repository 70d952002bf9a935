#!/usr/bin/env python3
# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Makes digits.h5, the data of the built-in job. Needs scikit-learn and h5py; using the file needs neither.

usage: make_digits.py [digits.h5]

The 1797 images are the ones that scikit-learn ships: the test part of "Optical Recognition of Handwritten
Digits", E. Alpaydin and C. Kaynak, UCI Machine Learning Repository 1998, doi 10.24432/C50P49, CC BY 4.0.
The split is a fixed permutation: 1408 images to train on (22 batches of 64), 389 to test on.
"""
import sys

import h5py
import numpy
from sklearn.datasets import load_digits

TRAIN = 1408


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "digits.h5"
    digits = load_digits()
    # MT19937's raw stream is fixed by its publication, so that the order never depends on numpy's version.
    keys = numpy.random.MT19937(0).random_raw(len(digits.target))
    order = numpy.argsort(keys, kind="stable")
    x = digits.data.astype(numpy.uint8)[order]
    y = digits.target.astype(numpy.uint8)[order]
    assert x.shape == (1797, 64) and x.max() == 16 and (x == digits.data[order]).all()

    with h5py.File(path, "w", libver=("v108", "v108")) as out:
        out.attrs["title"] = "Optical Recognition of Handwritten Digits, 8x8 grey levels 0..16"
        out.attrs["creators"] = "E. Alpaydin, C. Kaynak"
        out.attrs["source"] = "UCI Machine Learning Repository, https://doi.org/10.24432/C50P49"
        out.attrs["license"] = "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/"
        out.attrs["changes"] = "the 1797 images of the test part, shuffled once and split by make_digits.py"
        for name, part in (("train", slice(0, TRAIN)), ("test", slice(TRAIN, None))):
            group = out.create_group(name)
            for dataset, values in (("x", x[part]), ("y", y[part])):
                group.create_dataset(dataset, data=values, chunks=values.shape, compression="gzip",
                                     compression_opts=9, shuffle=False, track_times=False)
    print(f"{path}: {TRAIN} images to train on, {len(y) - TRAIN} to test on")


if __name__ == "__main__":
    main()
