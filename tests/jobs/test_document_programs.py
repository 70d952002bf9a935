# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The C++ of README.md and of the pages below docs/ compiles, or stands in a program that other tests compile and run.

Oracle: the compiler, with what pkg-config says to somebody who writes such a program. tests/support/documents.py says how a
block names what is around it.
"""
import concurrent.futures
import functools
import os
import re
import shlex
import textwrap

import pytest

from conftest import BUILD, ROOT, run
from documents import all_blocks, blocks_of

AROUND = ROOT / "tests/documents"
PLACE = re.compile(r"^ *// the block\n", re.M)
BLOCKS = all_blocks("cpp")
# Compiled and run by these tests.
RUN_BY = {"examples/loop/digits.cpp": "test_examples.py", "examples/model/digits.cpp": "test_examples.py",
          "examples/own_kernels/train.cpp": "test_examples.py",
          "examples/tutorial/alone.cpp": "test_tutorial.py", "examples/tutorial/ranks.cpp": "test_tutorial.py"}


def program_of(block):
    """What is compiled: the block by itself, or in the place that its comment names. Its #include lines come first."""
    if not block.note:
        return f'#line {block.line} "{block.page}"\n{block.text}'
    (name,) = block.named("in")
    around = (AROUND / name).read_text()
    assert len(PLACE.findall(around)) == 1, f"{name} has one line `// the block`"
    lines = block.text.splitlines(keepends=True)
    includes = "".join(line for line in lines if line.startswith("#include"))
    rest = "".join("\n" if line.startswith("#include") else line for line in lines)
    return includes + PLACE.sub(lambda _: f'#line {block.line} "{block.page}"\n{rest}#line 1 "behind the block"\n', around)


@functools.cache
def flags():
    words = run(["pkg-config", "--cflags", "dtrain"], ROOT, PKG_CONFIG_PATH=BUILD / "meson-uninstalled")
    assert words.returncode == 0, words.stderr
    return shlex.split(words.stdout)


def complaints(block, folder):
    source = folder / f"{block.page.replace('/', '-')}-{block.line}.cpp"
    source.write_text(program_of(block))
    done = run(["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused", *flags(), source], folder,
               timeout=400)
    return done.stderr if done.returncode else ""


def test_blocks_compile(tmp_path):
    blocks = [block for block in BLOCKS if not block.named("of")]
    assert len(blocks) > 10
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as compilers:
        found = list(compilers.map(lambda block: complaints(block, tmp_path), blocks))
    assert not any(found), "\n".join(found)


@pytest.mark.parametrize("change", [("env.communicator()", "env.world()"), ("ServerConnection servers", "ServerConnection server")])
def test_what_does_not_compile_is_told_with_its_page_and_line(change, tmp_path):
    (block,) = (block for block in BLOCKS if block.page == "docs/servers.md")
    text = f"<!-- test: {block.note} -->\n```cpp\n{block.text.replace(*change)}```\n"
    (broken,) = blocks_of("docs/servers.md", text)
    errors = complaints(broken, tmp_path)
    assert re.search(r"^docs/servers\.md:\d+:\d+: error: ", errors, re.M), errors


def test_what_is_around_blocks_is_used():
    used = {block.named("in")[0] for block in BLOCKS if block.named("in")}
    assert used == {path.name for path in AROUND.glob("*.cpp")}
    for block in BLOCKS:
        assert not block.note or block.named("in") or block.named("of"), block


def parts_of(block):
    return [textwrap.dedent(part) for part in re.split(r"^ *// \.\.\.\n", block.text, flags=re.M)]


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.named("of")], ids=str)
def test_blocks_are_parts_of_programs_that_run(block):
    (file,) = block.named("of")
    assert file.rpartition("/")[0] in (ROOT / "tests/jobs" / RUN_BY[file]).read_text()
    text, at = (ROOT / file).read_text(), 0
    for part in parts_of(block):
        found = re.compile("".join(rf"[ ]*{re.escape(line)}\n" if line else "\n" for line in part.splitlines())).search(text, at)
        assert found, f"{block}: {file} has no\n{part}"
        assert textwrap.dedent(found[0]) == part, f"{block}: other indentation than in {file}"
        at = found.end()


def test_every_program_that_is_named_has_a_block():
    assert RUN_BY.keys() == {block.named("of")[0] for block in BLOCKS if block.named("of")}


@pytest.mark.parametrize("page", ["docs/programs.md", "docs/zh/programs.md"])
def test_programs_have_the_lines_that_are_said(page):
    claims = re.findall(r"\]\((?:\.\./)+(examples/\S+\.cpp)\)\s+(?:is|does so in|是|用)\s+(\d+) (?:lines|行)", (ROOT / page).read_text())
    assert len(claims) == 4, claims
    for file, lines in claims:
        assert len((ROOT / file).read_text().splitlines()) == int(lines), file
