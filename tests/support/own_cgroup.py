# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A cgroup of a test's own for one controller, of whichever version this machine has."""
import os
import pathlib
import signal
import uuid

import pytest

ROOT = pathlib.Path("/sys/fs/cgroup")


class OwnCgroup:
    """Skips the test where there can be none. A context manager: at its end nobody is in it any more."""

    def __init__(self, controller):
        self.version = 1 if (ROOT / controller).is_dir() else 2
        self.name = f"dtrain-test-{uuid.uuid4().hex[:8]}"
        self.folder = (ROOT / controller if self.version == 1 else ROOT) / self.name

    def __enter__(self):
        try:
            self.folder.mkdir()
        except OSError as error:
            pytest.skip(f"no cgroup can be made: {error}")
        return self

    def __exit__(self, *_):
        self.folder.rmdir()

    def limit(self, file, value):
        try:
            with open(self.folder / file, "r+") as out:  # made by the kernel, or not there
                out.write(str(value))
        except OSError as error:
            pytest.skip(f"no limit can be set: {error}")

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def end_all(self):
        for pid in (self.folder / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
