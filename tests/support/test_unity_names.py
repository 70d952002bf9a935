# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""No file-local name stands twice in what one target compiles. Oracle: files made here whose collisions are known."""
import shutil
import subprocess

import pytest

import unity_names
from whole_jobs import BUILD

pytestmark = pytest.mark.skipif(
    shutil.which("ctags") is None or "Universal" not in subprocess.run(["ctags", "--version"], capture_output=True, text=True).stdout,
    reason="needs Universal Ctags (universal-ctags)")


def collisions(tmp_path, *texts):
    files = []
    for number, text in enumerate(texts):
        files.append(str(tmp_path / f"{number}.cpp"))
        (tmp_path / f"{number}.cpp").write_text(text)
    return [name for name, _ in unity_names.collisions(files)]


@pytest.mark.parametrize("inside", ["constexpr int page = 4096;", "int page = 1;", "struct page {};", "enum class page { a };",
                                    "int page() { return 1; }", "using page = int;", "template <class T> void page(T) {}"])
def test_names_that_collide_are_found(tmp_path, inside):
    other = "using page = long;" if inside.startswith("using") else inside
    first, second = (f"namespace dtrain {{\nnamespace {{\n{text}\n}}\n}}\n" for text in (inside, other))
    found = collisions(tmp_path, first, second)
    assert len(found) == 1 and found[0].startswith("dtrain::page"), found


@pytest.mark.parametrize("first, second", [
    ("namespace a { namespace { int page = 1; } }", "namespace b { namespace { int page = 1; } }"),
    ("namespace { using Clock = int; }", "namespace { using Clock = int; }"),
    ("namespace { int bytes(int value) { return value; } }", "namespace { int bytes(double value) { return 1; } }"),
    ("namespace { struct A { int size; }; }", "namespace { struct B { int size; }; }"),
    ("namespace { int one = 1; }", "namespace { int other = 1; }"),
])
def test_names_that_may_stand_together_are_not(tmp_path, first, second):
    assert collisions(tmp_path, first + "\n", second + "\n") == []


def test_no_name_stands_twice_in_a_target_of_this_build(capsys):
    targets = list(unity_names.targets_of(BUILD))
    if not targets:
        pytest.skip("this build compiles each file alone (-Dunity=off)")
    assert len(targets) > 10
    assert unity_names.main(BUILD) == 0, capsys.readouterr().out
