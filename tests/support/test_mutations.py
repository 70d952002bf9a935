# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The faults that tests/mutate makes can be made. Oracle: the sources; a copy of one of them, with the fault in it."""
import importlib.machinery
import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def loaded():
    loader = importlib.machinery.SourceFileLoader("mutate", str(ROOT / "tests/mutate"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
    loader.exec_module(module)
    return module


MUTATE = loaded()
TABLE = MUTATE.faults()


def test_each_fault_is_a_text_that_is_there_once():
    wrong = [f"{each['file']}: {each['what']}" for each in TABLE["mutation"]
             if (ROOT / each["file"]).read_text().count(each["old"]) != 1 or each["new"] == each["old"]]
    assert wrong == []


def test_each_fault_has_words_of_its_own_and_a_room():
    words = [(each["file"], each["what"]) for each in TABLE["mutation"]]
    assert len(set(words)) == len(words)
    assert {each["room"] for each in TABLE["mutation"]} == set(TABLE["room"])


def test_a_fault_has_nothing_else_and_a_harmless_one_says_why():
    for each in TABLE["mutation"]:
        assert set(each) - {"harmless"} == {"room", "file", "what", "old", "new"}, each["what"]
        assert each.get("harmless", "a reason").strip(), each["what"]


class Build:
    """Compiles what has no `error`; tests pass what has `good`, and hang where it has `endless`."""

    def __init__(self, folder):
        self.folder = folder

    def compiles(self, targets):
        return "error" not in self.text()

    def outcome(self, tests):
        return "hung" if "endless" in self.text() else "passed" if "good" in self.text() else "failed"

    def text(self):
        return (self.folder / "a.cpp").read_text()


@pytest.mark.parametrize(("old", "new", "result"), [
    ("good", "bad", "found"), ("good", "endless", "found as tests hang"), ("other", "bad", "survived"), ("other", "error", "it does not compile"),
    ("x", "y", "its text is not there once"), ("o", "y", "its text is not there once")])
def test_what_becomes_of_a_fault(tmp_path, old, new, result):
    (tmp_path / "a.cpp").write_text("good other")
    fault = {"file": "a.cpp", "old": old, "new": new}
    assert MUTATE.tried(Build(tmp_path), fault, {"targets": [], "tests": []}) == result
    assert (tmp_path / "a.cpp").read_text() == "good other"
