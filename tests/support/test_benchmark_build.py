# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""benchmarks/build.py on a made-up source folder whose examples/setup writes down how it was called. Oracle: what the benchmark's head
promises; ninja's and meson's formats (lines "[3/7] ...", intro-tests.json, intro-targets.json), copied from a build."""

import importlib
import os
import shutil
import subprocess

import pytest

from benchmark_stages import STAGES, Scene
import build
import harness
from program_runs import Failed

NINJA = "ninja: Entering directory `build'\n[1/3] Compiling C++ object a.o\n[2/3] Linking target a\n[3/3] Linking target b\n"


@pytest.fixture
def scene(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("CCACHE_DISABLE", "1")
    found = Scene(tmp_path / "scene", importlib.import_module("build"), "", monkeypatch)
    STAGES["build"][0].setup(found)
    calls = tmp_path / "calls"
    setup = found.module.SOURCE / "examples/setup"
    setup.write_text(setup.read_text() + f'\necho "setup $* ${{CCACHE_DISABLE:-cached}} $DTRAIN_PACKAGES $(basename "$DTRAIN_BUILD")" >>{calls}\n')
    found.tool("ninja", f'echo "ninja $3 $4 $5 ${{CCACHE_DISABLE:-cached}}" >>{calls}; echo "[1/3] one"; echo "[3/3] three"')
    found.tool("meson", f'shift 3; echo "meson $*" >>{calls}; exit ${{FAILS:-0}}')
    found.calls = lambda: calls.read_text().splitlines()
    return found


def rows(scene, text=""):
    return list(harness.run_benchmark("build", lambda: build.cases(scene.build), text))


COLD = ["setup --programs 1 ignore build-programs", "setup --tests 1 ignore build"]


def test_cold_builds_are_made_once_without_a_cache_and_tell_their_steps(scene):
    first, second, *_ = rows(scene, "cold")
    assert scene.calls() == COLD
    assert [(row.case, row.n, row.peer, row.peer_value) for row in (first, second)] == [
        ("what examples/quickstart builds, cold", 1, "the aim", 240), ("all programs and tests, cold", 1, "the aim", 840)]
    assert first.note.startswith("7 steps on 2 cores, load ") and first.note.endswith(" before")
    assert not first.error and first.value > 0


def test_a_change_is_built_without_a_cache_and_tested_three_times(scene):
    row, = rows(scene, "src/comm")
    changed = ["ninja b  1", f"meson --no-rebuild --num-processes {len(os.sched_getaffinity(0)) + 2} {' '.join(build.CHANGES['comm'][1])}"]
    assert [" ".join(call.split()) for call in scene.calls()] == [
        "setup --programs cached ignore build", "ninja b cached"] + [" ".join(call.split()) for call in changed] * 3
    assert (row.case, row.n, row.note.partition(",")[0]) == (
        "src/comm/node/backoff.cpp changed, to the result of its tests", 3, "3 steps on 2 cores")


def test_changes_begin_from_the_cold_build_where_that_was_made(scene):
    assert len(rows(scene)) == 4
    assert [call for call in scene.calls() if call.startswith("setup")] == COLD


def test_the_source_stays_and_the_copy_goes(scene, tmp_path):
    source = scene.module.SOURCE
    before = {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    rows(scene)
    assert {path: path.read_bytes() for path in source.rglob("*") if path.is_file()} == before
    assert not list(tmp_path.glob("dtrain-benchmark-*"))


def test_tests_that_fail_are_an_error_and_no_figure(scene, monkeypatch):
    monkeypatch.setenv("FAILS", "3")
    row, = rows(scene, "src/launch")
    assert row.error and row.value is None and row.not_measured == "exit status 3"


def test_too_little_space_is_told(scene, monkeypatch):
    monkeypatch.setattr(build, "GIGABYTES", 10 ** 9)
    row, = rows(scene)
    assert "has less free than 1000000000 GB; TMPDIR names another folder" in row.not_measured and not row.error


def test_steps_are_those_of_ninjas_last_line():
    assert (build.steps_of(NINJA), build.steps_of("ninja: no work to do.\n"), build.steps_of("")) == (3, 0, 0)


TESTS = [{"name": "launch", "depends": ["1@exe"], "suite": ["dtrain:unit"]}, {"name": "comm", "depends": ["2@exe", "3@sha"]}]
TARGETS = [{"id": "1@exe", "filename": ["/b/tests/launch/test_launch"]}, {"id": "2@exe", "filename": ["/b/tests/comm/test_comm"]},
           {"id": "3@sha", "filename": ["/b/tests/comm/libnccl.so.2"]}, {"id": "4@exe", "filename": ["/b/other"]}]


def test_targets_are_those_that_the_tests_depend_on():
    assert build.targets_of(["launch"], TESTS, TARGETS, "/b") == ["tests/launch/test_launch"]
    assert build.targets_of(["comm", "launch"], TESTS, TARGETS, "/b") == [
        "tests/comm/libnccl.so.2", "tests/comm/test_comm", "tests/launch/test_launch"]
    with pytest.raises(Failed, match="^this build has no test 'spawn'$"):
        build.targets_of(["spawn"], TESTS, TARGETS, "/b")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_copy_has_what_git_knows_and_what_is_new_but_nothing_ignored(tmp_path):
    source = tmp_path / "source"
    (source / "src").mkdir(parents=True)
    for name, text in (("src/a.cpp", "a"), ("gone", "x"), (".gitignore", "build*/\n")):
        (source / name).write_text(text)
    subprocess.run("git init -q && git add -A", shell=True, cwd=source, check=True)
    (source / "gone").unlink()
    (source / "new").write_text("new")
    (source / "build").mkdir()
    (source / "build/a.o").write_text("o")
    copy = build.Copy(source, tmp_path / "folder")
    copy.make()
    assert sorted(str(path.relative_to(copy.root)) for path in copy.root.rglob("*") if path.is_file()) == [".gitignore", "new", "src/a.cpp"]


def test_a_copy_without_git_leaves_builds_out(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    source = tmp_path / "source"
    for name in ("src/a.cpp", "build/a.o", "build-sanitize/a.o"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("")
    os.chmod(source / "src/a.cpp", 0o755)
    copy = build.Copy(source, tmp_path / "folder")
    copy.make()
    assert [str(path.relative_to(copy.root)) for path in copy.root.rglob("*") if path.is_file()] == ["src/a.cpp"]
    assert os.access(copy.root / "src/a.cpp", os.X_OK)


def test_what_changes_and_its_tests_are_there():
    """The real ones: a file that was renamed, or a test."""
    root = build.Path(build.__file__).resolve().parents[1]
    for room, (file, tests) in build.CHANGES.items():
        assert (root / file).exists()
        described = (root / "tests" / room / "meson.build").read_text()
        assert all(f"test('{name}'" in described or f"mpi_tests += {{'{room}'" in described for name in tests)
