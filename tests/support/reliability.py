# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/reliability.md, and whether a job's end is what one of their rows says."""
import dataclasses
import re

from whole_jobs import ROOT

PAGE = ROOT / "docs/reliability.md"
COLUMNS = ["what happens", "what you see first", "status", "seconds", "left behind"]
# Words of capitals in the page's texts, unless a test knows the value itself.
PLACEHOLDERS = {"PID": r"\d+", "RANK": r"\d+", "PORT": r"\d+", "SECONDS": r"\d+(?:\.\d+)?", "TIME": r"[\d-]+[ T][\d:,]+", "CLOCK": r"\d\d:\d\d:\d\d",
                "PLACE": r".+", "INFO": r".+", "NODE": r"node\d+",
                "REASON": r"ReqNodeNotAvail.*|Nodes required for job are DOWN, DRAINED.*"}


@dataclasses.dataclass
class Row:
    what: str
    lines: list  # the first one, then others of the same message
    status: int
    left: str


@dataclasses.dataclass
class Seen:
    """What came of a job in which it happened."""
    status: int
    output: str  # on stderr, or by the command that the row names
    seconds: float  # from that moment on
    values: dict  # of placeholders


def table(heading):
    """The rows below a heading, by what happens."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
    assert section, f"{PAGE} has no section {heading}"
    head, _, *lines = [line for line in section[1].splitlines() if line.startswith("|")]
    assert cells(head) == COLUMNS
    rows = {}
    for line in lines:
        what, first, status, seconds, left = cells(line)
        assert re.fullmatch(r"\d+(\.\d+)?", seconds), line
        assert what not in rows, line
        rows[what] = Row(what, re.findall(r"`([^`]+)`", first), int(status), left)
        assert rows[what].lines, line
    return rows


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def pattern(text, values):
    known = {name: re.escape(str(value)) for name, value in values.items()}
    return re.sub(r"[A-Z]+", lambda word: f"(?:{(PLACEHOLDERS | known).get(word[0], word[0])})", re.escape(text))


def message(output):
    """What stands there until logs are quoted; what dtrain tells of a good start is no message."""
    lines = [line for line in output.splitlines() if not line.startswith("INFO ")]
    end = next((number for number, line in enumerate(lines) if line.startswith("---- last lines")), len(lines))
    return lines[:end]


def check(row, seen):
    lines = message(seen.output)
    assert lines, f"nothing was said: {seen}"
    first, *others = [pattern(line, seen.values) for line in row.lines]
    assert re.fullmatch(first, lines[0]), f"the page says\n{row.lines[0]}\nand the program\n{lines[0]}\nof\n{seen.output}"
    for line, words in zip(others, row.lines[1:], strict=True):
        assert any(re.fullmatch(line, printed.strip()) for printed in lines), f"no line is\n{words}\nin\n{seen.output}"
    assert seen.status == row.status, seen.output
    print(f"{seen.seconds:.1f} s: {row.what}")  # pytest -rP shows what the page is to say
