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
        "benchmark": "launch", "case": "two ranks", "value": 3, "unit": "s", "peer": "mpirun", "peer_value": 2,
        "ratio": 1.5, "aim": 2.0, "better": "lower", "peer_elsewhere": None}
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
    with pytest.raises(RuntimeError, match="exit status 3\nwhy"):
        harness.wall_time(["sh", "-c", "echo why; exit 3"])


def test_benchmarks_are_the_files_that_define_cases():
    names = harness.names(BENCHMARKS)
    assert "launch" in names and "harness" not in names


def test_an_unknown_name_is_told_with_the_nearest_before_anything_is_built(tmp_path):
    done = subprocess.run([BENCHMARKS / "run", "lunch"], env={"PATH": "/usr/bin:/bin", "DTRAIN_BUILD": str(tmp_path)},
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "benchmarks/run: unknown benchmark 'lunch'; the nearest is 'launch'\n"
    assert not list(tmp_path.iterdir())
