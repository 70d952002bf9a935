# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""C++ programs of which one rank fails while others wait for it. Oracle: all end, soon, and somebody says which and why."""
import pytest

from conftest import mpirun
from whole_jobs import BUILD

SOON = 30  # seconds; who waits for an answer has 1800


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_test_that_throws_on_one_rank_ends_on_all(tmp_path, ranks):
    result = mpirun(ranks, [BUILD / "tests" / "support" / "throws_on_one_rank"], tmp_path, timeout=SOON)
    assert result.returncode != 0
    said = result.stderr + result.stdout
    assert f"rank {ranks - 1}: OneRank.Throws failed" in said and "its own words" in said, said


@pytest.mark.parametrize("how, said", [
    ("uncaught", "its own words"),
    ("caught", "<2> its own words"),
    ("handled", "trainer 1 (rank 2) has ended without leave(): it failed, or forgot it"),
])
def test_a_trainer_that_throws_ends_the_servers(tmp_path, how, said):
    """`caught`: around the MPI session; `handled`: within it, so that MPI's end waits for the others."""
    result = mpirun(3, [BUILD / "tests" / "ps" / "failing_trainer", how], tmp_path, timeout=SOON)
    assert result.returncode != 0
    assert said in result.stderr + result.stdout, result.stderr + result.stdout
    if how == "handled":
        assert f"<0> {said}" in result.stdout and f"<1> parameter server 0: {said}" in result.stdout, result.stdout
