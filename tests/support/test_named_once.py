# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Adding an element-wise operator touches 4 sources, adding an optimizer 2: passes, kernels, schemas, tables and job files
know them by their traits. Oracle: the numbers in docs/development.md ("What a change touches"), and the files of include/
and src/ that name, outside of comments, one that is there already."""
import re

import pytest

from whole_jobs import ROOT

LIMITS = {
    "an element-wise operator": (4, ["sigmoid"]),
    "an optimizer": (2, ["adagrad", "adamw", "ftrl"]),
}
# The sources of docs/compatibility.md have a row for what Paddle has, not for what dtrain has.
DOCUMENTS = {"src/launch/options/compatibility.cpp", "src/launch/options/static_programs.cpp"}
SOURCES = [path for folder in ("include", "src") for path in sorted((ROOT / folder).rglob("*"))
           if path.suffix in {".hpp", ".cpp", ".cu", ".build"} and str(path.relative_to(ROOT)) not in DOCUMENTS]


def files_that_name(name):
    return [str(path.relative_to(ROOT)) for path in SOURCES
            if name in re.sub(r"//.*|^\s*#(?!include).*", "", path.read_text(), flags=re.MULTILINE).lower()]


@pytest.mark.parametrize("what, limit, name", [(what, limit, name) for what, (limit, names) in LIMITS.items() for name in names])
def test_few_files_name_it(what, limit, name):
    found = files_that_name(name)
    assert found, f"no file names {name}"
    assert len(found) <= limit, f"{name}: {what} is named in {found}"


@pytest.mark.parametrize("what", LIMITS)
def test_the_guide_has_these_numbers(what):
    row = re.search(rf"^\| {what} \|.*$", (ROOT / "docs/development.md").read_text(), re.MULTILINE)
    assert row, f"no row for {what}"
    assert f"{LIMITS[what][0]} sources" in row[0], row[0]
