#!/usr/bin/env python3
# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Counts what the tests really did and closes with `N passed, N failed, N skipped`.

Reads the result files of meson (LOGBASE.junit.xml for the cases, LOGBASE.json for how each test program ended,
intro-tests.json for what should have run) and of pytest. A program that crashed, ran out of time or left no
result is a failure, whatever its files say. Exit status 0 only with something passed, or --may-skip-all, and nothing failed.
"""

import argparse
import json
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

TAIL_LINES = 40
GOOD_ENDS = ("OK", "EXPECTEDFAIL", "SKIP")


@dataclass
class Failure:
    name: str
    output: str = ""


@dataclass
class Skip:
    name: str
    reason: str


@dataclass
class Results:
    passed: int = 0
    failures: list = field(default_factory=list)
    skips: list = field(default_factory=list)

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips

    def summary(self):
        return f"{self.passed} passed, {len(self.failures)} failed, {len(self.skips)} skipped"

    def good(self):
        return self.passed > 0 and not self.failures


def last_line(text):
    """The reason of a skip, where one is marked (mpirun speaks after its programs), else the last line."""
    mark = "skipped: "
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    marked = [line.removeprefix(mark) for line in lines if line.startswith(mark)]
    return (marked or lines or ["no reason given"])[-1]


def count_case(case, name, output=""):
    """One <testcase>. Its own message goes before the program's output."""
    bad = case.find("failure") if case.find("failure") is not None else case.find("error")
    if bad is not None:
        message, text = bad.get("message") or "", bad.text or ""
        own = text if message in text else f"{message}\n{text}"  # GoogleTest says it twice
        return Results(failures=[Failure(name, own.strip() or output)])
    skipped = case.find("skipped")
    if skipped is not None:
        return Results(skips=[Skip(name, last_line(skipped.get("message") or skipped.text or output))])
    if case.get("status") == "notrun":
        return Results(skips=[Skip(name, "disabled in the source")])
    return Results(passed=1)


def parse_xml(path):
    """The root element, or the reason why there is none."""
    try:
        return ElementTree.parse(path).getroot(), None
    except (OSError, ElementTree.ParseError) as error:
        return None, f"no usable result file {path}: {error}"


def text_of(path):
    try:
        return Path(path).read_text(errors="replace")
    except OSError as error:
        return str(error)


def how_it_ended(record):
    status = record["returncode"]
    if record["result"] == "TIMEOUT":
        return "ran out of time"
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


def meson_test(test, records, gtest_suites, plain_cases):
    """One test of meson: its cases, corrected by how the program ended."""
    output = "\n".join(text for record in records for text in (record["stdout"], record.get("stderr")) if text)
    bad = [record for record in records if record["result"] not in GOOD_ENDS]
    results = Results()
    for suite in gtest_suites:
        for case in suite.iter("testcase"):
            results.add(count_case(case, f"{test}: {suite.get('name').split('.')[-1]}.{case.get('name')}", output))
    if not gtest_suites and not bad:
        for case in plain_cases:
            results.add(count_case(case, test, output))
    if not records:
        results.failures.append(Failure(test, "did not run: no result of it"))
    elif not bad and results == Results() and "Running 0 tests" not in output:
        results.failures.append(Failure(f"{test} (left no countable result)", output))
    if bad and not results.failures:
        results.failures.append(Failure(f"{test} ({how_it_ended(bad[0])})", output))
    return results


def plain_name(name):
    """meson writes "project:suite / name" where a run holds several suites, else "name"."""
    return name.split(" / ")[-1]


def test_of_suite(suite, tests):
    """The test that a GoogleTest suite belongs to: meson names it project.test.suite."""
    _, _, rest = suite.partition(".")
    return max((test for test in tests if plain_name(rest).startswith(test + ".")), key=len, default=None)


def meson_results(build, logbase, suite):
    """The tests of one `meson test --logbase LOGBASE` run. SUITE is a suite's name, or !name for all others."""
    build = Path(build)
    logs = build / "meson-logs"
    try:
        tests = json.loads((build / "meson-info" / "intro-tests.json").read_text())
        names = [test["name"] for test in tests]
        wanted = [test["name"] for test in tests
                  if (suite.lstrip("!") in [name.split(":")[-1] for name in test["suite"]]) != suite.startswith("!")]
        if not wanted:
            return Results()
        records = [json.loads(line) for line in (logs / f"{logbase}.json").read_text().splitlines()]
    except (OSError, ValueError) as error:
        return Results(failures=[Failure(f"{logbase} tests", f"no usable result file: {error}")])
    root, problem = parse_xml(logs / f"{logbase}.junit.xml")
    if root is None:
        return Results(failures=[Failure(f"{logbase} tests", problem)])

    results = Results()
    for test in wanted:
        gtest = [element for element in root.iter("testsuite")
                 if test_of_suite(element.get("name"), names) == test]
        plain = [case for element in root.iter("testsuite") for case in element.iter("testcase")
                 if element not in gtest and plain_name(case.get("name")) == test]
        own = [record for record in records if plain_name(record["name"]) == test]
        results.add(meson_test(test, own, gtest, plain))
    return results


def pytest_results(path, status, log):
    """The cases of a pytest run that ended with this exit status and printed what is in LOG."""
    root, problem = parse_xml(path)
    if root is None:
        return Results(failures=[Failure(f"pytest (exit status {status})", f"{text_of(log)}\n{problem}")])
    results = Results()
    for case in root.iter("testcase"):
        name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
        results.add(count_case(case, name))
    nothing_selected = 5
    if status not in (0, nothing_selected) and not results.failures:
        results.failures.append(Failure(f"pytest (exit status {status})", text_of(log)))
    return results


def report(results, out):
    for failure in results.failures:
        print(f"\nFAILED {failure.name}", file=out)
        for line in failure.output.rstrip().splitlines()[-TAIL_LINES:]:
            print(f"    {line}", file=out)
    if results.skips:
        print("\nskipped:", file=out)
        for skip in results.skips:
            print(f"    {skip.name}: {skip.reason}", file=out)
    if results.failures:
        print("\nfailed:", file=out)
        for failure in results.failures:
            print(f"    {failure.name}", file=out)
    print(results.summary(), file=out)


def main(arguments, out=sys.stdout):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--meson", nargs=3, action="append", default=[], metavar=("BUILD", "LOGBASE", "SUITE"))
    parser.add_argument("--pytest", nargs=3, action="append", default=[],
                        metavar=("JUNIT_XML", "STATUS", "LOGFILE"))
    parser.add_argument("--failure", nargs=2, action="append", default=[], metavar=("NAME", "LOGFILE"))
    parser.add_argument("--skip", nargs=2, action="append", default=[], metavar=("NAME", "REASON"))
    parser.add_argument("--may-skip-all", action="store_true", help="nothing passed is fine where something was skipped")
    options = parser.parse_args(arguments)

    results = Results()
    for build, logbase, suite in options.meson:
        results.add(meson_results(build, logbase, suite))
    for path, status, log in options.pytest:
        results.add(pytest_results(path, int(status), log))
    results.failures += [Failure(name, text_of(path)) for name, path in options.failure]
    results.skips += [Skip(name, reason) for name, reason in options.skip]
    report(results, out)
    nothing_to_do = options.may_skip_all and results.skips and not results.failures
    return 0 if results.good() or nothing_to_do else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
