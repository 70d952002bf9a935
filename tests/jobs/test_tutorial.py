# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/tutorial.md (examples/tutorial).

Oracle: the tutorial's own words: what is changed from one process to many is what it shows, any number of ranks prints
the same, and a resumed run what an undisturbed one does. Its commands on two nodes are those of tests/cluster.
"""
import difflib
import shutil

import pytest

from conftest import LAUNCH, ROOT, mpirun, run
from example_programs import compiled

SOURCES = ROOT / "examples/tutorial"
DIGITS = ROOT / "examples/digits.h5"
PAGE = (ROOT / "docs/tutorial.md").read_text()


@pytest.fixture(scope="module")
def programs():
    return {name: compiled(SOURCES / f"{name}.cpp") for name in ("alone", "ranks")}


def printed(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_the_page_shows_what_makes_the_program_parallel():
    before, after = ((SOURCES / f"{name}.cpp").read_text().splitlines()[3:] for name in ("alone", "ranks"))
    changes = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    assert len(changes) == 4
    assert "\n".join(line[0] + line[2:] for line in changes) in PAGE


def test_any_number_of_ranks_prints_the_same(programs, tmp_path):
    alone = printed(run([programs["alone"], DIGITS], tmp_path))
    assert len(alone) == 5
    for ranks in (1, 2, 4):
        assert printed(mpirun(ranks, [programs["ranks"], DIGITS], tmp_path)) == alone
    launched = [LAUNCH, "--no-banner", "--nproc_per_node", "2", programs["ranks"], DIGITS]
    assert printed(run(launched, tmp_path)) == alone


def test_a_resumed_run_prints_what_an_undisturbed_one_does(programs, tmp_path):
    whole = printed(run([programs["alone"], DIGITS, "7"], tmp_path))
    shutil.rmtree(tmp_path / "checkpoints")
    begun = printed(mpirun(2, [programs["ranks"], DIGITS, "4"], tmp_path))
    assert begun + printed(mpirun(4, [programs["ranks"], DIGITS, "7", "--resume"], tmp_path)) == whole


def test_without_data_one_line_says_so(programs, tmp_path):
    done = run([programs["ranks"], "nowhere.h5"], tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("digits: ") and "nowhere.h5" in done.stderr and done.stderr.count("\n") == 1
