# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The guide in Chinese says what the English one says.

Oracle: docs/guide.md. Options, names in code, links, examples and the depth of headings are the same in every language.
"""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def guide(name):
    return (DOCS / name).read_text()


def blocks(text):
    return re.findall(r"^```.*?^```", text, re.M | re.S)


def prose(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


TOLD = {
    "options": lambda text: set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text)),
    "names in code": lambda text: set(re.findall(r"`([^`\n]+)`", prose(text))),
    "examples": blocks,
    "headings": lambda text: [len(marks) for marks in re.findall(r"^(#+) ", prose(text), re.M)],
    "links": lambda text: set(re.findall(r"\]\(([^)#]+)", prose(text))) - {"guide.md", "guide.zh.md"},
    "rows of tables": lambda text: len(re.findall(r"^\|", prose(text), re.M)),
}


@pytest.mark.parametrize("what", TOLD)
def test_both_guides_tell_the_same(what):
    english, chinese = TOLD[what](guide("guide.md")), TOLD[what](guide("guide.zh.md"))
    assert english == chinese


def test_links_of_the_chinese_guide_lead_somewhere():
    text = guide("guide.zh.md")
    headings = {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.M)}
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", prose(text)):
        if target:
            assert (DOCS / target).exists(), target
        else:
            assert anchor in headings, anchor
