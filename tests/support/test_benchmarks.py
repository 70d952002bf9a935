# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Oracle: measurements made up here, whose medians and ratio are worked out by hand; the keys that programs read
from benchmarks/run --json as its help names them."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import harness


def recorded(values, name, calls):
    iterator = iter(values)

    def measure():
        calls.append(name)
        return next(iterator)
    return measure


def test_measurements_are_taken_in_turns_after_one_of_each_that_does_not_count():
    calls = []
    own, peer = harness.paired(recorded([9, 1, 2, 3], "A", calls), recorded([8, 4, 5, 6], "B", calls), 3)
    assert (own, peer) == ([1, 2, 3], [4, 5, 6])
    assert calls == ["A", "B"] * 4


def case(better, aim):
    return harness.Case("two ranks", "s", better, recorded([0, 3, 90, 1], "A", []), "mpirun",
                        recorded([0, 2, 2, 50], "B", []), aim, repeats=3)


def test_a_result_is_the_ratio_of_medians():
    result = harness.run_case("launch", case("lower", 2.0))
    assert (result.value, result.peer_value, result.ratio) == (3, 2, 1.5)
    assert result.as_line() == "launch: two ranks: 3 s; mpirun: 2 s; ratio 1.50, aim <= 2"
    assert json.loads(result.as_json()) == {
        "benchmark": "launch", "case": "two ranks", "value": 3, "min": 1, "max": 90, "n": 3, "unit": "s", "peer": "mpirun",
        "peer_value": 2, "peer_min": 2, "peer_max": 50, "ratio": 1.5, "aim": 2.0, "better": "lower", "peer_elsewhere": None,
        "foreign": False, "note": "", "not_measured": "", "error": False}
    assert harness.run_case("launch", case("higher", 0.97)).as_line().endswith("aim >= 0.97")


def test_what_the_peer_made_elsewhere_is_told_beside_it():
    result = harness.run_case("launch", dataclasses.replace(case("lower", 2.0), peer_elsewhere=12345))
    assert result.as_line() == "launch: two ranks: 3 s; mpirun: 2 s (1.234e+04 elsewhere); ratio 1.50, aim <= 2"
    assert json.loads(result.as_json())["peer_elsewhere"] == 12345


def test_figures_of_several_cases_are_measured_in_turns_and_not_before_one_is_asked_for():
    calls = []
    own, peer = harness.taken_in_turns(recorded([{"pull": 1, "push": 2}, {"pull": 3, "push": 4}], "A", calls),
                                       recorded([5, 6], "B", calls), 2)
    pulls, pushes = (harness.turns(own, lambda each, what=what: each[what]) for what in ("pull", "push"))
    peers = harness.turns(peer, float)
    assert calls == []
    assert [pulls(), pulls(), pushes(), pushes(), peers(), peers()] == [1, 3, 2, 4, 5, 6]
    assert calls == ["A", "B"] * 2


def test_cases_are_chosen_by_their_descriptions():
    all_cases = [harness.Missing("one rank", ""), case("lower", 2.0)]
    assert list(harness.chosen(all_cases, "two")) == all_cases[1:]
    assert list(harness.chosen(all_cases, "")) == all_cases
    with pytest.raises(harness.Unavailable, match="no case has 'three' in its description"):
        list(harness.chosen(all_cases, "three"))


def test_a_program_that_fails_is_no_measurement():
    assert harness.wall_time(["sleep", "0.05"]) >= 0.05
    with pytest.raises(harness.Failed, match="^exit status 3: why$"):
        harness.wall_time(["sh", "-c", "echo why; exit 3"])


def failing(error, after=0):
    calls = []

    def measure():
        calls.append(1)
        if len(calls) > after:
            raise error
        return 2.0
    measure.calls = calls
    return measure


@pytest.mark.parametrize("foreign", [True, False])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_peer_that_fails_is_asked_no_more_and_our_own_figure_stays(foreign, after):
    peer = failing(harness.Failed("exit status 1: why"), after)
    row = harness.run_case("launch", dataclasses.replace(case("lower", 2.0), measure_peer=peer, foreign=foreign))
    assert (row.value, row.n, row.peer_value, row.ratio, row.not_measured) == (3, 3, None, None, "exit status 1: why")
    assert row.error == (not foreign)
    assert len(peer.calls) == after + 1
    assert row.as_line() == "launch: two ranks: 3 s; mpirun: not measured: exit status 1: why"


@pytest.mark.parametrize("error, words", [(harness.Failed("no end after 2 s, stopped"), "no end after 2 s, stopped"),
                                          (OSError(2, "No such file"), "FileNotFoundError: [Errno 2] No such file"),
                                          (KeyError("pull"), "KeyError: 'pull'"),
                                          (ValueError("two\nlines"), "ValueError: two lines")])
def test_our_own_program_that_fails_is_an_error_of_its_row(error, words):
    row = harness.run_case("launch", dataclasses.replace(case("lower", 2.0), measure=failing(error), foreign=True))
    assert (row.value, row.n, row.error) == (None, 0, True)
    assert row.as_line() == f"launch: two ranks: not measured: {words}"


def test_a_bug_in_how_a_peer_is_measured_is_an_error_also_with_others_programs():
    row = harness.run_case("launch", dataclasses.replace(case("lower", 2.0), measure_peer=failing(TypeError("no")), foreign=True))
    assert row.error and row.not_measured == "TypeError: no"


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -1, 0, 1e-101, 1e101, None, "fast"])
def test_what_a_peer_tells_has_to_be_a_measurement(figure):
    row = harness.run_case("launch", dataclasses.replace(case("lower", 2.0), measure_peer=lambda: figure, foreign=True))
    assert row.value == 3 and row.ratio is None and not row.error
    assert row.not_measured == f"it told {figure!r}, which is no measurement"


def test_our_own_figure_may_be_zero_but_not_less():
    assert harness.run_case("ps", dataclasses.replace(case("lower", 2.0), measure=lambda: 0)).ratio == 0
    assert harness.run_case("ps", dataclasses.replace(case("lower", 2.0), measure=lambda: -0.1)).error


def test_cases_that_fail_stop_no_others():
    broken = dataclasses.replace(case("lower", 2.0), what="one", measure=failing(harness.Failed("why")))

    def cases():
        yield broken
        yield harness.Missing("three", "no GPU")
        yield case("lower", 2.0)
        raise harness.Failed("no folder")
    rows = list(harness.run_benchmark("launch", cases))
    assert [(row.case, row.not_measured, row.error) for row in rows] == [
        ("one", "why", True), ("three", "no GPU", False), ("two ranks", "", False), ("", "no folder", True)]
    assert rows[1].as_line() == "launch: three: not measured: no GPU"
    assert rows[3].as_line() == "launch: not measured: no folder"


def test_a_benchmark_that_this_machine_cannot_run_is_no_error():
    def cases():
        raise harness.Unavailable("needs 2 GPUs")
        yield
    assert [(row.as_line(), row.error) for row in harness.run_benchmark("nccl", cases)] == [("nccl: not measured: needs 2 GPUs", False)]


def test_a_peer_that_fails_leaves_our_own_figures_of_several_cases():
    calls = []
    own, peer = harness.taken_in_turns(recorded([1, 2, 3], "A", calls), failing(harness.Failed("why"), after=1), 3)
    assert own() == [1, 2, 3] and calls == ["A"] * 3
    for _ in range(2):
        with pytest.raises(harness.Failed, match="^why$"):
            peer()
    assert calls == ["A"] * 3


def test_our_own_figures_of_several_cases_are_tried_once():
    own = failing(harness.Failed("why"))
    ours, _ = harness.taken_in_turns(own, lambda: 1, 3)
    for _ in range(2):
        with pytest.raises(harness.Failed, match="^why$"):
            ours()
    assert len(own.calls) == 1


def test_fewer_rounds_than_asked_for_are_no_measurement():
    figure = harness.turns(lambda: [1], float)
    assert figure() == 1
    with pytest.raises(harness.Failed, match="^it told fewer rounds than it was asked for$"):
        figure()


def test_benchmarks_are_the_files_that_define_cases():
    names = harness.names(BENCHMARKS)
    assert "launch" in names and "harness" not in names
    assert not {"all", "compare"} & set(names)
    assert set(names) - set(harness.names_of_all(BENCHMARKS)) == {"build", "torch", "torch_nodes"}


def test_an_unknown_name_is_told_with_the_nearest_before_anything_is_built(tmp_path):
    done = subprocess.run([BENCHMARKS / "run", "lunch"], env={"PATH": "/usr/bin:/bin", "DTRAIN_BUILD": str(tmp_path)},
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "benchmarks/run: unknown benchmark 'lunch'; the nearest is 'launch'\n"
    assert not list(tmp_path.iterdir())
