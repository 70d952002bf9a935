# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The API reference that Doxygen makes of the public headers.

Oracle: Doxygen's own warnings, which end it with a status; docs/reference.md names every header but version.hpp and
those that its headers bring.
"""
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import ROOT

HEADERS = sorted(path for path in (ROOT / "include/dtrain").glob("*.hpp"))


def doxygen(source, output):
    if shutil.which("doxygen") is None:
        pytest.skip("doxygen (Debian package doxygen) is not installed")
    output.mkdir()
    variables = {"DTRAIN_SOURCE": source, "DTRAIN_DOC_DIR": output, "DTRAIN_VERSION": "1.2.3"}
    return subprocess.run(["doxygen", ROOT / "docs/Doxyfile"], cwd=output, text=True, timeout=120, check=False,
                          env=os.environ | {name: str(value) for name, value in variables.items()},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


def test_the_reference_is_made_without_warnings(tmp_path):
    made = doxygen(ROOT, tmp_path / "doc")
    assert (made.returncode, made.stdout) == (0, "")
    pages = {path.name for path in (tmp_path / "doc/html").iterdir()}
    assert {f"{path.stem.replace('_', '__')}_8hpp_source.html" for path in HEADERS} <= pages
    assert "allreduce" in (tmp_path / "doc/html/classdtrain_1_1Communicator.html").read_text()
    assert "1.2.3" in (tmp_path / "doc/html/index.html").read_text()


@pytest.mark.parametrize("declarations, complaint", [
    ("/// Halves. @param y there is none such\nint half(int x);", "'y'"),
    ("int half(int x);", "half"),
    ("/// Two.\nstruct Two {\n    int one = 1;\n};", "one"),
])
def test_what_is_wrong_or_missing_in_a_comment_is_found(declarations, complaint, tmp_path):
    shutil.copytree(ROOT / "include", tmp_path / "include")
    (tmp_path / "docs").mkdir()
    for name in ("reference.md", "doxygen.sed"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs")
    header = tmp_path / "include/dtrain/cpuset.hpp"
    header.write_text(header.read_text() + f"namespace dtrain {{\n{declarations}\n}}\n")
    made = doxygen(tmp_path, tmp_path / "doc")
    assert made.returncode != 0 and "cpuset.hpp" in made.stdout and complaint in made.stdout, made.stdout


def test_the_first_page_leads_to_every_header():
    page = (ROOT / "docs/reference.md").read_text()
    named = [path for path in HEADERS if f"dtrain/{path.name}" in page]
    brought = {pathlib.Path(line.split("/", 1)[1].rstrip(">"))
               for path in named for line in path.read_text().splitlines() if line.startswith("#include <dtrain/")}
    missing = {path.name for path in HEADERS} - {path.name for path in named} - {str(path) for path in brought}
    assert missing == set(), "docs/reference.md names neither these nor headers that include them"
