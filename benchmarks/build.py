# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a build takes on this machine, with all packages there and no compiler cache: what examples/quickstart builds,
all programs and tests, and one changed .cpp to the result of its room's tests.

A copy of the files is built, in a folder below TMPDIR that is removed (a few GB). The peers are not programs but the aims, in
minutes that a machine of two cores should take. Cold builds take many minutes and are made once; `--case changed` leaves them
out, and takes from the compiler cache what is there of a build to begin from. Other work on the machine makes all of it slower:
each row says how loaded that was when it began.
"""

import json
import os
import re
import shutil
import tempfile
from pathlib import Path

from harness import Case, Failed, Unavailable, once
from machine import load
from program_runs import run

IN_ALL = False
NEEDS_BUILD = False
SOURCE = Path(__file__).resolve().parent.parent
AIM_OF_QUICKSTART = 240  # seconds
AIM_OF_ALL = 840
AIM_OF_A_CHANGE = 30
CHANGES = {  # room: the file that changes, and tests of it by meson's names
    "launch": ("src/launch/plan/plan.cpp", ["launch"]),
    "comm": ("src/comm/node/backoff.cpp", [*(f"comm ({part} of 4)" for part in range(1, 5)), "comm on 2 ranks"]),
}
REPEATS = 3
LIMIT = 3 * 3600  # seconds
GIGABYTES = 8


def cases(_build):
    with tempfile.TemporaryDirectory(prefix="dtrain-benchmark-") as name:
        if shutil.disk_usage(name).free < GIGABYTES << 30:
            raise Unavailable(f"{Path(name).parent} has less free than {GIGABYTES} GB; TMPDIR names another folder")
        copy = Copy(SOURCE, Path(name))
        # Where builds of other checkouts lie, too, so that the compiler cache knows their command lines.
        quickstart, everything = copy.root / "build-programs", copy.root / "build"
        yield cold("what examples/quickstart builds, cold", copy, "--programs", quickstart, AIM_OF_QUICKSTART)
        yield cold("all programs and tests, cold", copy, "--tests", everything, AIM_OF_ALL)
        for room, (file, tests) in CHANGES.items():
            yield changed(copy, everything, room, file, tests)


class Copy:
    """The files of a checkout, or of a folder without git, in a folder of their own."""

    def __init__(self, source, folder):
        self.source, self.root = source, folder / "source"

    def files(self):
        try:
            names = run(["git", "-C", self.source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]).output
            return [name for name in names.split("\0") if name]
        except Failed:
            return [str(path.relative_to(self.source)) for path in self.source.rglob("*")
                    if path.is_file() and not path.relative_to(self.source).parts[0].startswith("build")]

    def make(self):
        """Once."""
        if self.root.exists():
            return
        for name in self.files():
            if (self.source / name).is_file():  # git also lists what has just been removed
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.source / name, self.root / name)

    def setup(self, what, build, cache=False):
        """Seconds that examples/setup takes to configure and build; it installs nothing."""
        self.make()
        environment = {**self.environment(cache), "DTRAIN_PACKAGES": "ignore", "DTRAIN_BUILD": str(build)}
        return run([self.root / "examples/setup", what], environment, limit=LIMIT).seconds

    def ninja(self, build, targets, cache=False):
        words = [shutil.which("ninja") or "ninja-build", "-C", build, *targets]
        return run(words, {**self.environment(cache), "NINJA_STATUS": "[%f/%t] "}, limit=LIMIT)

    def environment(self, cache):
        kept = {name: value for name, value in os.environ.items() if name != "CCACHE_DISABLE"}
        return {**kept, **({"CCACHE_BASEDIR": str(self.root), "CCACHE_NOHASHDIR": "1"} if cache else {"CCACHE_DISABLE": "1"})}


class Watched:
    """A measurement that remembers how loaded the machine was before it."""

    def __init__(self, measure, steps):
        self.measure, self.steps, self.load = measure, steps, None

    def __call__(self):
        if self.load is None:
            self.load = load()
        return self.measure()

    def note(self):
        return f"{self.steps()} steps on {len(os.sched_getaffinity(0))} cores, load {self.load:g} before"


def cold(what, copy, option, build, aim):
    watched = Watched(lambda: copy.setup(option, build), lambda: steps_of((build / "setup.log").read_text(errors="replace")))
    return Case(what, "s", "lower", watched, "the aim", lambda: aim, 1.0, repeats=1, warm_up=False, note=watched.note)


def steps_of(log):
    """Of ninja's last line in it: "[183/183] ..." """
    found = re.findall(r"^\[(\d+)/\d+\]", log, flags=re.MULTILINE)
    return int(found[-1]) if found else 0


def changed(copy, build, room, file, tests):
    @once
    def ready():
        if not (build / "build.ninja").exists():
            copy.setup("--programs", build, cache=True)
        targets = targets_of(tests, *(json.loads((build / f"meson-info/intro-{what}.json").read_text()) for what in ("tests", "targets")),
                             build)
        copy.ninja(build, targets, cache=True)
        return targets

    steps = []

    def measure():
        targets = ready()
        with open(copy.root / file, "a", encoding="utf-8") as opened:
            opened.write("// changed\n")
        ninja = copy.ninja(build, targets)
        steps.append(steps_of(ninja.output))
        tested = run(["meson", "test", "-C", build, "--no-rebuild", "--num-processes", str(len(os.sched_getaffinity(0)) + 2), *tests],
                     limit=LIMIT)  # as many as tests/run starts: some only wait
        return ninja.seconds + tested.seconds

    watched = Watched(measure, lambda: steps[-1])
    return Case(f"{file} changed, to the result of its tests", "s", "lower", watched, "the aim", lambda: AIM_OF_A_CHANGE,
                1.0, REPEATS, warm_up=False, note=watched.note)


def targets_of(tests, known_tests, known_targets, build):
    """What ninja has to make for tests of these names. @raise Failed: there is no such test"""
    depends = set()
    for name in tests:
        found = [test for test in known_tests if test["name"] == name]
        if not found:
            raise Failed(f"this build has no test '{name}'")
        depends.update(found[0]["depends"])
    return sorted(os.path.relpath(file, build) for target in known_targets if target["id"] in depends for file in target["filename"])
