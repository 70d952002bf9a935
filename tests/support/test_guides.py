# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The pages in Chinese say what the English ones say, and links of all pages lead somewhere.

Oracle: the English pages of the same names. Options, names in code, links, examples and the depth of headings are the same in
every language. Links: files of this tree, and headings as GitHub makes anchors of them.
"""

import re

import pytest

from documents import CHINESE, PAGES, ROOT

DOCS = ROOT / "docs"
# Those in Chinese: the English ones.
PAIRS = {page: DOCS / (page.name if page.parent.name == "zh" else page.name.replace(".zh", "")) for page in sorted(CHINESE)}
LINKED = sorted({*PAGES, *CHINESE, *ROOT.glob("*.md"), *ROOT.glob("examples/*.md")})


def blocks(page):
    return re.findall(r"^```.*?^```", page.read_text(), re.M | re.S)


def prose(page):
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)


def links(page):
    """What is linked, as files and anchors; code has none."""
    found = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", re.sub(r"`[^`\n]*`", "", prose(page)))
    return [((page.parent / target).resolve() if target else page, anchor) for target, anchor in found
            if not re.match(r"\w+:", target)]


def linked(page):
    """Files, of pages with a translation the English ones, without the page itself and its translations."""
    return {PAIRS.get(target, target) for target, _ in links(page)} - {PAIRS.get(page, page)}


def anchors(page):
    """Of its headings."""
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.+)$", prose(page), re.M)]
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


COMPARED = {
    "options": lambda page: set(re.findall(r"(?<![\w-])--[a-z][\w-]*", page.read_text())),
    "names in code": lambda page: set(re.findall(r"`([^`\n]+)`", prose(page))),
    "examples": blocks,
    "headings": lambda page: [len(marks) for marks in re.findall(r"^(#+) ", prose(page), re.M)],
    "links": linked,
    "rows of tables": lambda page: len(re.findall(r"^\|", prose(page), re.M)),
    "items of lists": lambda page: len(re.findall(r"^ *(?:-|\d+\.) ", prose(page), re.M)),
}


def test_every_page_in_chinese_has_an_english_one_and_each_names_the_other():
    assert {page.name for page in (DOCS / "zh").iterdir()} == {page.name for page in CHINESE} - {"guide.zh.md"}
    for page, english in PAIRS.items():
        assert english in [target for target, _ in links(page)] and page in [target for target, _ in links(english)], page


@pytest.mark.parametrize("what", COMPARED)
@pytest.mark.parametrize("page", PAIRS, ids=lambda page: page.name)
def test_both_languages_tell_the_same(page, what):
    assert COMPARED[what](PAIRS[page]) == COMPARED[what](page)


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target, anchor in links(page):
        assert target.exists(), target
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{target}#{anchor}"
