# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Every benchmark that benchmarks/run finds, with a peer that crashes, fails, tells rubbish or does not end. Oracle: the stand-ins
of benchmark_stages.py, which say what they do; all rows but the peer's are measured."""

import dataclasses
import importlib

import pytest

from benchmark_stages import BENCHMARKS, STAGES, Scene, nothing
import harness

ALL = [(name, number) for name in harness.names(BENCHMARKS) for number in range(len(STAGES.get(name, [None])))]
CRASH = 'echo "terminate called without an active exception" >&2; kill -ABRT $$; sleep 60'
FAILS = 'echo Traceback >&2; echo "ImportError: no gloo" >&2; exit 3'
RUBBISH = "echo as fast as light"


def rows_of(name, stage, peer, folder, monkeypatch, repeats=1):
    """As benchmarks/run makes them, with fewer repeats."""
    module = importlib.import_module(name)
    scene = Scene(folder, module, peer, monkeypatch)
    stage.setup(scene)

    def cases():
        for case in module.cases(scene.build, **dict(stage.arguments)):
            yield case if isinstance(case, harness.Missing) else dataclasses.replace(case, repeats=min(case.repeats, repeats))
    return harness.run_benchmark(name, cases)


@pytest.fixture(params=ALL, ids=lambda each: "-".join(map(str, each)))
def benchmark_and_stage(request):
    name, number = request.param
    assert name in STAGES, f"benchmarks/{name}.py has no stage in benchmark_stages.py: say there what its peers are"
    return name, STAGES[name][number]


def check(name, stage, rows, *whys):
    """`whys` are words of which one stands in the row of the peer."""
    assert rows
    keys = [(row.case, row.peer) for row in rows]
    assert len(set(keys)) == len(keys)
    hit = [row for row in rows if stage.hit(row)]
    assert bool(hit) == (stage.hit is not nothing)
    for row in hit:
        assert any(why in row.not_measured for why in whys) and "\n" not in row.not_measured, row
        assert (row.peer_value, row.ratio, row.error) == (None, None, stage.ours), row
        assert row.as_line().startswith(f"{name}: {row.case}: ") and f"not measured: {row.not_measured}" in row.as_line()
        assert (row.value is not None) or stage.own_too, row
    for row in rows:
        if not stage.hit(row) and row.peer:
            assert row.ratio is not None and row.not_measured == "" and not row.error, row
    # Missing is only what depends on the machine: bfloat16.
    assert all("bfloat16" in row.case for row in rows if not row.peer), [row for row in rows if not row.peer]


def test_a_peer_that_crashes_is_not_measured_and_all_else_is(benchmark_and_stage, tmp_path, monkeypatch):
    name, stage = benchmark_and_stage
    rows = list(rows_of(name, stage, CRASH, tmp_path, monkeypatch))
    check(name, stage, rows, "killed by SIGABRT: terminate called without an active exception")


def test_a_peer_that_fails_is_told_with_the_last_line_of_its_error(benchmark_and_stage, tmp_path, monkeypatch):
    name, stage = benchmark_and_stage
    check(name, stage, list(rows_of(name, stage, FAILS, tmp_path, monkeypatch)), "exit status 3: ImportError: no gloo")


def test_a_peer_that_tells_rubbish_is_not_measured(benchmark_and_stage, tmp_path, monkeypatch):
    name, stage = benchmark_and_stage
    if not stage.parsed:
        pytest.skip("only the time of this peer counts")
    check(name, stage, list(rows_of(name, stage, RUBBISH, tmp_path, monkeypatch)),
          "no figure in its output, which ends with 'as fast as light'", "no figure in its output: KeyError 'pull'", "it printed nothing",
          "all_reduce_perf told no times", "alone.toml: it told 0 epochs of 4")


@pytest.mark.parametrize("name", ["mlp", "nodes", "ps_store"])
def test_a_peer_that_does_not_end_is_stopped(name, tmp_path, monkeypatch):
    stage = STAGES[name][0]
    for limit in ("LIMIT", "MPIRUN_HANGS"):
        for module in (name, "checkpoint"):  # which runs dd
            monkeypatch.setattr(importlib.import_module(module), limit, 2, raising=False)
    if name == "nodes":
        monkeypatch.setattr(importlib.import_module(name), "TRIES", 2)
    rows = rows_of(name, stage, "exec sleep 1000", tmp_path, monkeypatch)
    row = next(row for row in rows if stage.hit(row))
    assert row.not_measured.startswith("no end after 2 s"), row
    assert row.value is not None and not row.error


def test_a_peer_that_is_not_there_is_told_with_its_name(tmp_path, monkeypatch):
    stage = STAGES["checkpoint"][0]
    monkeypatch.setenv("PATH", "/nowhere")
    rows = rows_of("checkpoint", stage, "", tmp_path, monkeypatch)
    (tmp_path / "bin/dd").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert next(rows).not_measured == "dd cannot be started: No such file or directory"
