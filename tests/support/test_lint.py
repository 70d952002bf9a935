# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""tests/lint on small trees that have one fault each. Oracle: the fault that was put there, and its line."""
import os
import re
import shutil
import subprocess

import pytest

from whole_jobs import ROOT

HEAD = "// SPDX-FileCopyrightText: dtrain contributors\n// SPDX-License-Identifier: Apache-2.0\n"
SCRIPT = "# SPDX-FileCopyrightText: dtrain contributors\n# SPDX-License-Identifier: Apache-2.0\n"
ROOMS = """room_headers = {
  'base': ['base'],
  'launch': ['launch/*.hpp'],
  'launch_plan': ['launch/plan'],
}
"""
TREE = {
    "CONTRIBUTING.md": "base <- launch\nlaunch <- launch/plan\n",
    "src/meson.build": ROOMS,
    "src/base/meson.build": """base_lib = static_library('base',
  include_directories: [public_inc, room_inc['base']],
  dependencies: [fmt_dep])
base_dep = declare_dependency(link_with: base_lib, include_directories: [public_inc, room_inc['base']])
""",
    "src/launch/meson.build": """launch_lib = static_library('launch', 'launch.cpp',
  include_directories: room_inc['launch'],
  dependencies: [base_dep])
launch_dep = declare_dependency(link_with: launch_lib, include_directories: room_inc['launch'], dependencies: [base_dep])
""",
    "src/launch/plan/meson.build": """launch_plan_lib = static_library('launch_plan',
  include_directories: room_inc['launch_plan'],
  dependencies: [base_dep, launch_dep])
""",
    "src/base/text.hpp": HEAD + "#pragma once\nint length();\n",
    "src/launch/plan/plan.hpp": HEAD + "#pragma once\n",
    "src/launch/launch.cpp": HEAD + '#include "base/text.hpp"\n',
}


@pytest.fixture
def tree(tmp_path):
    """Writes the tree with some files of its own; gives back a function that runs tests/lint there."""
    def lint(*arguments, files=None, **environment):
        for name, text in {**TREE, **(files or {})}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "tests").mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests/lint", tmp_path / "tests")
        for name in (".clang-format", ".clang-tidy", ".flake8"):
            shutil.copy(ROOT / name, tmp_path)
        return subprocess.run([tmp_path / "tests/lint", *arguments], cwd=tmp_path, text=True, capture_output=True, timeout=300,
                              check=False, env={**os.environ, **environment})
    return lint


def found(done):
    """The findings; the last two lines are the check's and the sum."""
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.endswith("\n0 passed, 1 failed, 0 skipped\n")
    return done.stdout.splitlines()[:-2]


def test_a_tree_without_faults_passes(tree):
    done = tree("includes")
    assert done.returncode == 0 and done.stdout.endswith("\n1 passed, 0 failed, 0 skipped\n"), done.stdout


@pytest.mark.parametrize("name, text, finding", [
    ("src/base/text.cpp", HEAD + '#include "launch/x.hpp"\n', "src/base/text.cpp:3: there is no src/launch/x.hpp"),
    ("src/base/text.cpp", HEAD + '#include "x.hpp"\n', "src/base/text.cpp:3: x.hpp is not beside this file"),
    ("src/base/text.cpp", HEAD + "\n" + '#include "launch/plan/plan.hpp"\n',
     "src/base/text.cpp:4: base may not know launch/plan (launch/plan/plan.hpp); see CONTRIBUTING.md"),
    ("src/launch/launch.cpp", HEAD + '#include "launch/plan/plan.hpp"\n',
     "src/launch/launch.cpp:3: launch may not know launch/plan (launch/plan/plan.hpp); see CONTRIBUTING.md"),
    ("src/launch/launch.cpp", HEAD + '#include "../base/text.hpp"\n',
     "src/launch/launch.cpp:3: '../base/text.hpp': a header is named from its room on"),
    ("src/base/text.hpp", HEAD + "int length();\n", "src/base/text.hpp:1: has no #pragma once"),
    ("src/base/text.hpp", "#pragma once\n", "src/base/text.hpp:1: does not begin with the two SPDX lines"),
    ("some.sh", "#!/bin/sh\nexit 0\n", "some.sh:1: does not begin with the two SPDX lines"),
    ("CONTRIBUTING.md", "base <- launch\nbase <- launch/plan\n",
     "src/launch/plan/meson.build:1: launch/plan depends on launch, and CONTRIBUTING.md has no arrow launch <- launch/plan"),
    ("CONTRIBUTING.md", TREE["CONTRIBUTING.md"] + "base <- cellar\n", "CONTRIBUTING.md:3: src/meson.build has no room cellar"),
])
def test_includes(tree, name, text, finding):
    assert found(tree("includes", files={name: text})) == [finding]


def test_arrows_in_a_circle(tree):
    arrows = TREE["CONTRIBUTING.md"] + "launch/plan <- launch\n"
    assert found(tree("includes", files={"CONTRIBUTING.md": arrows})) == [
        "CONTRIBUTING.md:3: launch is below itself",
        "CONTRIBUTING.md:3: launch does not depend on launch/plan in its meson.build",
        "CONTRIBUTING.md:2: launch/plan is below itself"]


def test_format(tree):
    ugly = {"src/base/text.cpp": HEAD + "int  length() { return 1; }\n"}
    done = tree("format", files=ugly)
    if "skipped: needs clang-format" in done.stdout:
        pytest.skip("needs clang-format 14")
    assert found(done) == ["src/base/text.cpp:3: is laid out in another way; tests/lint format --fix"]
    assert tree("format", "--fix", files=ugly).returncode == 0


@pytest.mark.parametrize("check, tool, name, text, finding", [
    ("shell", "shellcheck", "some", "#!/bin/sh\n" + SCRIPT + "echo $1\n", "some:4:6: note: Double quote"),
    ("python", "flake8", "some.py", SCRIPT + "import os\n", "some.py:3:1: F401 'os' imported but unused"),
])
def test_scripts(tree, check, tool, name, text, finding):
    if not shutil.which(tool):
        pytest.skip(f"needs {tool}")
    findings = found(tree(check, files={name: text}))
    assert len(findings) == 1 and findings[0].startswith(finding)


MOVED = """#include <utility>

struct List {{
    List(List&&) noexcept;
    int length() const;
}};

inline int {}(List list) {{
    const List taken = std::move(list);
    return list.length();
}}
"""


def test_tidy(tree, tmp_path):
    for tool in ("clang-tidy-19", "meson", "ninja", "git"):
        if not shutil.which(tool):
            pytest.skip(f"needs {tool}")

    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *arguments], cwd=tmp_path, check=True,
                       capture_output=True)

    files = {".gitignore": "/build*/\n/subprojects/\n",
             "meson.build": "project('small', 'cpp', default_options: ['cpp_std=c++20'])\n"
                            "static_library('small', 'src/base/text.cpp', 'src/base/other.cpp')\nsubproject('of_others')\n",
             "subprojects/of_others/meson.build": "project('of_others', 'cpp')\nstatic_library('of_others', 'theirs.cpp')\n",
             "subprojects/of_others/theirs.cpp": MOVED.format("theirs"),
             "src/base/other.cpp": HEAD + MOVED.format("other"), "src/base/text.cpp": HEAD + '#include "text.hpp"\n'}
    git("init", "-q")
    assert tree("includes", files=files).returncode == 0
    git("add", ".")
    git("commit", "-qm", "first")
    assert tree("tidy", "--changed", "HEAD", files=files).returncode == 0, "nothing has changed"
    # A header: what includes it is looked at, and the other file is not.
    files["src/base/text.hpp"] = HEAD + "#pragma once\n" + MOVED.format("length")
    header = "src/base/text.hpp:13: 'list' used after it was moved"
    findings = found(tree("tidy", "--changed", "HEAD", files=files))
    assert len(findings) == 1 and findings[0].startswith(header)
    findings = sorted(found(tree("tidy", files=files)))
    assert len(findings) == 2 and findings[0].startswith("src/base/other.cpp:12: 'list' used") and findings[1].startswith(header)
    done = tree("tidy", "--within", "0", files=files)
    assert done.returncode == 0 and "tidy: skipped: 2 of 2 units are left" in done.stdout


def test_a_missing_tool_is_named(tree, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to("/usr/bin/python3")
    done = tree("format", "shell", "python", "tidy", PATH=str(tools))
    assert done.returncode == 0
    for package in ("clang-format", "shellcheck", "flake8", "clang-tidy-19"):
        assert re.search(rf"skipped: needs .*: the package {package}\b", done.stdout)
    assert done.stdout.endswith("\n0 passed, 0 failed, 4 skipped\n")


@pytest.mark.parametrize("arguments, named", [(["spelling"], "'spelling'"), (["--changed", "HEAD"], "--changed needs git"),
                                              (["-j", "0"], "--jobs is 0")])
def test_bad_input(tree, arguments, named):
    done = tree(*arguments)
    assert done.returncode == 2 and named in done.stderr and done.stderr.count("\n") == 1
