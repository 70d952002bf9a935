# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The fenced code blocks of README.md and of the pages below docs/, as values.

A comment right before a block says what a test needs to know of it: `<!-- test: in gpu.cpp -->`. The words are those of
the block's language:

  cpp           nothing: it compiles as it is; `in NAME`: in the place of `// the block` in tests/documents/NAME;
                `of FILE`: it stands in this file, which other tests compile and run; `// ...` is what it leaves out
  sh, console   `stand-ins NAME ...`: commands that cannot run here, see STAND_INS of tests/jobs/test_document_commands.py
  python        `file NAME`: a script that commands of the page, and the tests of Python, find under this name
  toml          `in NAME`: its tables replace those of tests/documents/NAME
"""
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Those in Chinese have the blocks of the English ones: tests/support/test_guides.py.
CHINESE = {ROOT / "docs/guide.zh.md", *(ROOT / "docs/zh").glob("*.md")}
PAGES = [ROOT / "README.md", *sorted(set((ROOT / "docs").rglob("*.md")) - CHINESE)]

FENCE = re.compile(r" {0,3}```(.*)")
NOTE = re.compile(r"<!-- test: (.+) -->")


class PageError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Block:
    page: str      # from the folder of the sources
    line: int      # of its first line
    language: str
    note: str      # what the comment says; "": there is none
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"

    def named(self, kind):
        """The words behind `kind` in the note."""
        words = self.note.split()
        return words[1:] if words[:1] == [kind] else []


def blocks_of(page, text):
    """The blocks of a page. A comment that belongs to no block, and a block without end, are errors."""
    found, note, begun = [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        if begun:
            if line.strip() == "```":
                found.append(Block(page, begun[0], begun[1], note[1] if note else "", "".join(begun[2])))
                begun = note = None
            else:
                begun[2].append(line + "\n")
        elif fence := FENCE.fullmatch(line):
            begun = (number + 1, fence[1].strip(), [])
        elif note and line.strip():
            raise PageError(f"{page}:{note[0]}: no block behind this comment")
        elif comment := NOTE.fullmatch(line.strip()):
            note = (number, comment[1])
    if begun:
        raise PageError(f"{page}:{begun[0] - 1}: a block without end")
    if note:
        raise PageError(f"{page}:{note[0]}: no block behind this comment")
    return found


def all_blocks(*languages):
    """Those of these languages, in the order of the pages; without languages all."""
    found = [block for page in PAGES for block in blocks_of(str(page.relative_to(ROOT)), page.read_text())]
    return [block for block in found if not languages or block.language in languages]
