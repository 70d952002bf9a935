# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Oracle: result files written here in the form of meson 1.0, GoogleTest 1.12 and pytest 7, with the counts
that a reader of them arrives at by hand; the ends of programs that those files hide (a timeout, a crash after
the last case) must be failures."""

import io
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import count_results

GTEST_GOOD = """<testsuite name="dtrain.base.TextTest" tests="3" failures="0">
  <testcase name="Splits" status="run" classname="TextTest"/>
  <testcase name="Trims" status="run" classname="TextTest"/>
  <testcase name="DISABLED_Slow" status="notrun" classname="TextTest"/></testsuite>"""
GTEST_MIXED = """<testsuite name="dtrain.base.FilesTest" tests="2" failures="1">
  <testcase name="Replaces" classname="FilesTest"><failure message="a.cpp:3&#x0A;Expected: 1"
    type=""><![CDATA[a.cpp:3\nExpected: 1]]></failure></testcase>
  <testcase name="AsRoot" classname="FilesTest"><skipped message="a.cpp:9&#x0A;needs root"/></testcase></testsuite>"""
PLAIN = '<testsuite name="dtrain" tests="1"><testcase name="hello" classname="dtrain"/></testsuite>'


@pytest.fixture
def build(tmp_path):
    """A build directory: build(tests, records, junit)."""
    (tmp_path / "meson-info").mkdir()
    (tmp_path / "meson-logs").mkdir()

    def write(tests, records, junit):
        (tmp_path / "meson-info/intro-tests.json").write_text(
            json.dumps([{"name": name, "suite": [f"dtrain:{suite}"]} for name, suite in tests.items()]))
        (tmp_path / "meson-logs/unit.json").write_text("".join(
            json.dumps({"name": name, "result": result, "returncode": status, "stdout": "the output\n"}) + "\n"
            for name, result, status in records))
        (tmp_path / "meson-logs/unit.junit.xml").write_text(f"<testsuites>{''.join(junit)}</testsuites>")
        return tmp_path
    return write


def count(build_directory, suite="unit"):
    return count_results.meson_results(build_directory, "unit", suite)


def names(results):
    return [failure.name for failure in results.failures]


def test_cases_are_counted_one_by_one(build):
    results = count(build({"base": "unit"}, [("dtrain:unit / base", "FAIL", 1)], [GTEST_GOOD, GTEST_MIXED]))
    assert results.summary() == "2 passed, 1 failed, 2 skipped"
    assert names(results) == ["base: FilesTest.Replaces"]
    assert results.failures[0].output == "a.cpp:3\nExpected: 1"
    assert [(skip.name, skip.reason) for skip in results.skips] == [
        ("base: TextTest.DISABLED_Slow", "disabled in the source"), ("base: FilesTest.AsRoot", "needs root")]


def test_a_program_that_fails_after_its_last_case_is_a_failure(build):
    results = count(build({"base": "unit"}, [("base", "FAIL", 23)], [GTEST_GOOD]))
    assert results.summary() == "2 passed, 1 failed, 1 skipped"
    assert names(results) == ["base (exit status 23)"]
    assert results.failures[0].output == "the output\n"


@pytest.mark.parametrize("result, status, how", [
    ("FAIL", -11, "killed by signal 11"), ("TIMEOUT", -15, "ran out of time"), ("ERROR", 99, "exit status 99")])
def test_a_program_without_cases_is_judged_by_its_end(build, result, status, how):
    # meson's own junit file shows a test that timed out like one that passed.
    results = count(build({"hello": "unit"}, [("hello", result, status)], [PLAIN]))
    assert results.summary() == "0 passed, 1 failed, 0 skipped"
    assert names(results) == [f"hello ({how})"]


def test_a_program_without_cases_that_ended_well_has_passed(build):
    assert count(build({"hello": "unit"}, [("hello", "OK", 0)], [PLAIN])).summary() == "1 passed, 0 failed, 0 skipped"


def test_the_reason_of_a_skip_is_the_line_that_says_so(build):
    # What mpirun writes about a status of its programs comes after it.
    directory = build({"hello": "unit"}, [("hello", "SKIP", 77)], ['<testsuite name="dtrain" tests="1"><testcase name="hello" '
                      'classname="dtrain"><skipped/></testcase></testsuite>'])
    file = directory / "meson-logs/unit.json"
    file.write_text(file.read_text().replace("the output", "skipped: no GPU\\n-----\\nmpirun detected that"))
    assert [skip.reason for skip in count(directory).skips] == ["no GPU"]


def test_a_test_that_did_not_run_is_a_failure(build):
    results = count(build({"base": "unit", "io": "unit"}, [("base", "OK", 0)], [GTEST_GOOD]))
    assert results.summary() == "2 passed, 1 failed, 1 skipped"
    assert names(results) == ["io"]


def test_suites_are_chosen_by_name_or_by_exclusion(build):
    directory = build({"base": "unit", "comm": "mpi"}, [("dtrain:unit / base", "OK", 0)], [GTEST_GOOD])
    assert count(directory, "!mpi").passed == 2
    assert names(count(directory, "mpi")) == ["comm"]
    assert count(directory, "other").summary() == "0 passed, 0 failed, 0 skipped"


def test_names_are_found_with_mesons_prefix_too(build):
    # As meson 1.0 writes them where the tests of a run belong to several suites.
    junit = [text.replace('"dtrain.base.', '"dtrain.dtrain:unit / base.').replace('"hello"', '"dtrain:unit / hello"')
             for text in (GTEST_GOOD, GTEST_MIXED, PLAIN)]
    records = [("dtrain:unit / base", "FAIL", 1), ("dtrain:unit / hello", "OK", 0)]
    results = count(build({"base": "unit", "hello": "unit"}, records, junit))
    assert results.summary() == "3 passed, 1 failed, 2 skipped"


def test_a_program_whose_cases_cannot_be_found_is_a_failure(build):
    results = count(build({"base": "unit"}, [("base", "OK", 0)], []))
    assert names(results) == ["base (left no countable result)"]


def test_a_program_without_a_chosen_case_is_none(build):
    directory = build({"base": "unit"}, [("base", "OK", 0)], ['<testsuite name="dtrain.base.AllTests" tests="0"/>'])
    file = directory / "meson-logs/unit.json"
    file.write_text(file.read_text().replace("the output", "[==========] Running 0 tests from 0 test suites."))
    assert count(directory).summary() == "0 passed, 0 failed, 0 skipped"


def test_suites_go_to_the_test_with_the_longest_name():
    assert count_results.test_of_suite("dtrain.comm.2.Sum", ["comm", "comm.2"]) == "comm.2"
    assert count_results.test_of_suite("dtrain.comm.Sum", ["comm", "comm.2"]) == "comm"
    assert count_results.test_of_suite("dtrain", ["dtrain"]) is None


@pytest.mark.parametrize("name", ["unit.json", "unit.junit.xml"])
@pytest.mark.parametrize("content", [None, "<cut off"])
def test_missing_and_broken_result_files_are_failures(build, name, content):
    directory = build({"base": "unit"}, [("base", "OK", 0)], [GTEST_GOOD])
    file = directory / "meson-logs" / name
    file.unlink() if content is None else file.write_text(content)
    results = count(directory)
    assert results.summary() == "0 passed, 1 failed, 0 skipped"
    assert "no usable result file" in results.failures[0].output


def pytest_file(tmp_path, cases):
    file = tmp_path / "jobs.xml"
    file.write_text(f'<testsuites><testsuite name="pytest">{cases}</testsuite></testsuites>')
    return file


def test_pytest_cases(tmp_path):
    file = pytest_file(tmp_path, """<testcase classname="a" name="good"/>
        <testcase classname="a" name="bad"><failure message="assert 1 == 2">the traceback</failure></testcase>
        <testcase classname="a" name="broken"><error message="no fixture"/></testcase>
        <testcase classname="a" name="left"><skipped type="pytest.skip" message="no GPU">at line 3</skipped></testcase>""")
    results = count_results.pytest_results(file, 1, "no log")
    assert results.summary() == "1 passed, 2 failed, 1 skipped"
    assert names(results) == ["a.bad", "a.broken"]
    assert results.failures[0].output == "assert 1 == 2\nthe traceback"
    assert results.skips[0].reason == "no GPU"


@pytest.mark.parametrize("status, failed", [(0, 0), (5, 0), (2, 1), (124, 1)])
def test_pytests_status_counts_too(tmp_path, status, failed):
    file = pytest_file(tmp_path, '<testcase classname="a" name="good"/>')
    log = tmp_path / "log"
    log.write_text("what pytest said")
    failures = count_results.pytest_results(file, status, log).failures
    assert [failure.output for failure in failures] == ["what pytest said"] * failed


def test_pytest_without_a_file_is_a_failure(tmp_path):
    results = count_results.pytest_results(tmp_path / "none.xml", 124, "no log")
    assert results.summary() == "0 passed, 1 failed, 0 skipped"


@pytest.mark.parametrize("arguments, status, last", [
    ([], 1, "0 passed, 0 failed, 0 skipped"),
    (["--skip", "x", "why"], 1, "0 passed, 0 failed, 1 skipped"),
    (["--may-skip-all", "--skip", "x", "why"], 0, "0 passed, 0 failed, 1 skipped"),
    (["--may-skip-all"], 1, "0 passed, 0 failed, 0 skipped"),
    (["--may-skip-all", "--failure", "build", "LOG", "--skip", "x", "why"], 1, "0 passed, 1 failed, 1 skipped"),
    (["--failure", "build", "LOG"], 1, "1 passed, 1 failed, 0 skipped"),
    (["--skip", "x", "why"], 0, "1 passed, 0 failed, 1 skipped")])
def test_report_and_exit_status(tmp_path, arguments, status, last):
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    arguments = [str(log) if argument == "LOG" else argument for argument in arguments]
    if last.startswith("1"):
        arguments += ["--pytest", str(pytest_file(tmp_path, '<testcase name="good"/>')), "0", "no log"]
    out = io.StringIO()
    assert count_results.main(arguments, out) == status
    lines = out.getvalue().splitlines()
    assert lines[-1] == last
    assert ("    line 99" in lines) == ("--failure" in arguments)
    assert "    line 10" not in lines
    assert ("    x: why" in lines) == ("--skip" in arguments)
