# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""benchmarks/nccl.py. Oracle: the columns that all_reduce_perf of nccl-tests prints (its README and doc/PERFORMANCE.md: time in
microseconds, algbw = size / time), in its older and newer widths, with the lines that NCCL's log puts between them."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import harness
import nccl

OUTPUT = """# nThread 1 nGpus 2 minBytes 1048576 maxBytes 4194304 step: 4(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   5092 on      node1 device  0 [0x21] NVIDIA H200
#  Rank  1 Group  0 Pid   5092 on      node1 device  1 [0x22] NVIDIA H200
NCCL version 2.28.9+cuda13.0
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    105.9    9.90    9.90      0    105.7    9.92    9.92      0
node1:5092:5092 [1] NCCL INFO comm 0x55ba65abd9d0 rank 0 nranks 2 cudaDev 0 busId a4
     4194304       1048576     float     sum      -1    177.1   23.68   23.68      0    176.7   23.74   23.74    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 16.81
"""
BEFORE_REDOP = """#       size         count      type    root     time   algbw   busbw  error     time   algbw   busbw  error
    40046416      10011604     float      -1   1268.1   31.58   31.58      0   1279.3   31.30   31.30      0
"""


def test_times_in_place_are_in_the_second_columns():
    assert nccl.in_place_times(OUTPUT) == {1048576: 105.7, 4194304: 176.7}
    assert nccl.in_place_times(BEFORE_REDOP) == {40046416: 1279.3}


def test_bandwidth_is_nccl_tests_algbw():
    assert nccl.bandwidth(1048576, 105.7) == pytest.approx(9.92, abs=0.005)
    assert nccl.bandwidth(4194304, 176.7) == pytest.approx(23.74, abs=0.005)


@pytest.mark.parametrize("output, complaint", [
    (OUTPUT.replace("    N/A", "     12"), "all_reduce_perf: 12 wrong values of 4194304 bytes"),
    ("", "all_reduce_perf told no times"),
    ("invalid device ordinal\n", "all_reduce_perf told no times")])
def test_what_is_no_measurement_is_an_error(output, complaint):
    with pytest.raises(harness.Failed) as error:
        nccl.in_place_times(output)
    assert str(error.value) == complaint
    assert error.value.output == ("" if "wrong" in complaint else output)


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("commands, why", [
    ("echo 1", "NCCL's all-reduce is measured between two GPUs or more, and this process sees one"),
    ("echo 'node1 has no GPU for NCCL: none' >&2; exit 77", "node1 has no GPU for NCCL: none"),
    ("echo 2", "needs nccl-tests: all_reduce_perf in PATH, or its folder in DTRAIN_NCCL_TESTS")])
def test_why_nothing_is_measured(tmp_path, commands, why):
    program = script(tmp_path / "nccl_allreduce", commands)
    with pytest.raises(harness.Unavailable) as reason:
        list(nccl.compared(program, {"PATH": "/nowhere"}))
    assert str(reason.value) == why


def test_nccl_tests_that_are_not_where_they_are_said_to_be(tmp_path):
    program = script(tmp_path / "nccl_allreduce", "echo 2")
    with pytest.raises(harness.Unavailable, match=r"DTRAIN_NCCL_TESTS is '\S+', where no all_reduce_perf can be run"):
        list(nccl.compared(program, {"DTRAIN_NCCL_TESTS": str(tmp_path)}))


@pytest.mark.parametrize("where", ["", "all_reduce_perf"])
def test_the_ratio_is_that_of_bandwidths(tmp_path, monkeypatch, where):
    """Programs that tell times: 100 and 97 microseconds of each sum."""
    program = script(tmp_path / "nccl_allreduce", 'case $1 in --gpus) echo 4 ;; *) echo 100.0 ;; esac\n')
    script(tmp_path / "mpirun", '[ "$1 $2" = "-np 4" ] && shift 2 && exec "$@"\n')
    script(tmp_path / "all_reduce_perf", f"""[ "$1 $3 $5 $6" = "-b -e -g 4" ] && [ "$2" = "$4" ] || exit 3
grep '# *size' <<'END'
{OUTPUT}END
echo "$2 1 float sum -1 1 1 1 0 97.0 1 1 0"
""")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = list(nccl.compared(program, {"DTRAIN_NCCL_TESTS": str(tmp_path / where)}))
    assert [case.what for case in found] == [f"{size} on 4 GPUs" for size in ("64 KB", "1 MB", "16 MB", "128 MB", "1024 MB")]
    result = harness.run_case("nccl", found[1])
    assert result.value == pytest.approx(1048576 / 100e-6 / 1e9)
    assert result.as_line() == "nccl: 1 MB on 4 GPUs: 10.49 GB/s; nccl-tests: 10.81 GB/s; ratio 0.97, aim >= 0.97"


def test_a_peer_that_fails_is_an_error(tmp_path):
    tool = script(tmp_path / "all_reduce_perf", "echo 'unhandled cuda error'; exit 3")
    with pytest.raises(harness.Failed, match="^exit status 3: unhandled cuda error$"):
        nccl.peer(tool, 2, 1024)()
