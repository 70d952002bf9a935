# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs with matmul = "bfloat16" or "float16" on CPUs.

Oracles: the accuracy that any sound training of the shipped job reaches, and that of the same job in float32, of which 1 in
100 test samples may be missing; where the CPU cannot, that job's very bits. ONEDNN_MAX_CPU_ISA makes any CPU one that cannot.
"""
import re

import pytest

from conftest import mpirun
from test_native import accuracy, complaints, write_job

SHIPPED = {"hidden = [32]": "hidden = [128, 64]", 'optimizer = "adam"': 'optimizer = "adam"\nlearning_rate = 0.002'}
BFLOAT16 = {"[checkpoint]": 'matmul = "bfloat16"\n[checkpoint]'}
WITHOUT = {"ONEDNN_MAX_CPU_ISA": "AVX2"}


def checksum(result):
    return re.search(r"checksum ([0-9a-f]+)", result.stdout)[1]


def trained(native, folder, ranks, name, replaced, **environment):
    result = mpirun(ranks, [native, write_job(folder, name, 20, **SHIPPED, **replaced)], folder, **environment)
    assert result.returncode == 0, result.stderr
    return result


@pytest.mark.parametrize("ranks", [1, 2])
def test_products_of_bfloat16_teach_as_well(native, tmp_path, ranks):
    rounded = trained(native, tmp_path, ranks, "rounded", BFLOAT16)
    if complaints(rounded):
        pytest.skip("this CPU has neither AVX512-BF16 nor AMX")
    exact = trained(native, tmp_path, ranks, "exact", {})
    assert ", products of bfloat16\n" in rounded.stdout
    assert "products of" not in exact.stdout
    assert checksum(rounded) != checksum(exact)
    assert accuracy(rounded) >= max(0.96, accuracy(exact) - 0.01)
    assert f"the same on {ranks} rank" in rounded.stdout


def test_no_cpu_multiplies_float16(native, tmp_path):
    requested = trained(native, tmp_path, 2, "half", {"[checkpoint]": 'matmul = "float16"\n[checkpoint]'})
    assert complaints(requested) == ['dtrain-native: [train] matmul = "float16": only GPUs multiply float16 ([train] '
                                     'device = "gpu"); all ranks compute with float32']
    assert checksum(requested) == checksum(trained(native, tmp_path, 2, "exact", {}))


def test_a_cpu_without_them_computes_with_float32_and_says_so(native, tmp_path):
    rounded = trained(native, tmp_path, 2, "rounded", BFLOAT16, **WITHOUT)
    exact = trained(native, tmp_path, 2, "exact", {}, **WITHOUT)
    assert complaints(rounded) in [
        [f'dtrain-native: [train] matmul = "bfloat16" is not possible on 2 of 2 ranks: {why}; all ranks compute with float32']
        for why in ("the CPU has neither AVX512-BF16 nor AMX", "dtrain was built without oneDNN")]
    assert complaints(exact) == []
    assert checksum(rounded) == checksum(exact)
    assert "products of" not in rounded.stdout
