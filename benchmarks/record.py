# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The file of a run of benchmarks, JSON: written as a whole or not at all, and read back with every figure looked at."""

import contextlib
import json
import math
import os
import stat
import tempfile
from pathlib import Path

FORMAT = "dtrain benchmarks"
VERSION = 1
TEXTS = ("benchmark", "case", "unit", "better", "peer", "not_measured", "note")
FIGURES = ("value", "min", "max", "peer_value", "peer_min", "peer_max", "ratio", "aim", "peer_elsewhere")
FLAGS = ("foreign", "error")
MACHINE = {"cpu": str, "cores": int, "memory_bytes": int, "architecture": str, "os": str, "kernel": str, "load": (int, float),
           "versions": dict}


class BadFile(Exception):
    """Says in one line what is wrong with which file, and what to do."""


def document(machine, commit, date, command, results, complete):
    return {"format": FORMAT, "version": VERSION, "date": date, **commit, "machine": machine, "command": command,
            "complete": complete, "cases": [result.as_object() for result in results]}


def text_of(content):
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def look_at_target(path):
    """@raise BadFile: no file can be written there"""
    path = Path(path)
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise BadFile(f"'{path}' is no regular file; name a file that is to be written")
    if not path.resolve().parent.is_dir():
        raise BadFile(f"'{path}' cannot be written: there is no folder '{path.parent}'; make it first")
    if not os.access(path.resolve().parent, os.W_OK):
        raise BadFile(f"'{path}' cannot be written: no right to write into '{path.parent}'; name another folder")


def write(path, content):
    """Replaces the file. @raise BadFile"""
    target = Path(path).resolve()
    text = text_of(content)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o666 & ~umask())
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise BadFile(f"'{path}' cannot be written: {error.strerror}; name another file") from error


def umask():
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def read(path):
    """@raise BadFile"""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=no_number)
    except OSError as error:
        raise BadFile(f"'{path}' cannot be read: {error.strerror}; name a file that benchmarks/run --json has written") from error
    except (ValueError, RecursionError) as error:
        raise BadFile(f"'{path}' is no JSON ({' '.join(str(error).split())}); "
                      "name a file that benchmarks/run --json has written") from error
    wrong = what_is_wrong(content)
    if wrong:
        raise BadFile(f"'{path}' is no file of benchmarks/run --json: {wrong}; measure anew")
    return content


def no_number(word):
    raise ValueError(f"{word} is no number")


def what_is_wrong(content):
    """In words, or an empty text."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return f"it has no \"format\": \"{FORMAT}\""
    if content.get("version") != VERSION or isinstance(content["version"], bool):
        return f"its version is {content.get('version')!r}, and this program knows {VERSION}"
    if not all(isinstance(content.get(name), str) for name in ("date", "commit")):
        return "date and commit must be texts"
    machine = content.get("machine")
    if not isinstance(machine, dict):
        return "machine must be an object"
    for name, kind in MACHINE.items():
        if not isinstance(machine.get(name), kind) or kind in (int, (int, float)) and not is_count(machine[name]):
            return f"machine's {name} is {machine.get(name)!r}"
    if not isinstance(content.get("cases"), list):
        return "cases must be a list"
    for number, case in enumerate(content["cases"]):
        wrong = what_is_wrong_with_case(case)
        if wrong:
            return f"case {number + 1}: {wrong}"
    return ""


def what_is_wrong_with_case(case):
    if not isinstance(case, dict):
        return "it is no object"
    for name in TEXTS:
        if not isinstance(case.get(name), str):
            return f"{name} is {case.get(name)!r} and should be a text"
    for name in FLAGS:
        if not isinstance(case.get(name), bool):
            return f"{name} is {case.get(name)!r} and should be true or false"
    for name in FIGURES:
        value = case.get(name, "missing")
        if value is not None and not is_count(value):
            return f"{name} is {value!r} and should be a number, 0 or more, or null"
    if not isinstance(case.get("n"), int) or not is_count(case["n"]):
        return f"n is {case.get('n')!r} and should be a count"
    for median, least, most, measured in (("value", "min", "max", case["n"] > 0), ("peer_value", "peer_min", "peer_max", None)):
        figures = [case[name] for name in (least, median, most)]
        if measured is None:
            measured = case[median] is not None
        if any((figure is None) == measured for figure in figures):
            return f"{least}, {median} and {most} are {figures}: all of them are measured, or none, as n says"
        if measured and not figures[0] <= figures[1] <= figures[2]:
            return f"{least}, {median} and {most} are {figures}, which are not in order"
    if case["n"] > 0 and case["better"] not in ("higher", "lower"):
        return f"better is {case['better']!r} and should be higher or lower"
    if (case["ratio"] is None) != (case["peer_value"] is None):
        return "ratio and peer_value belong together"
    return ""


def is_count(value):
    """A number, 0 or more."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    except OverflowError:  # an integer beyond all floats
        return False
