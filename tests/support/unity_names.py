#!/usr/bin/env python3
# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Names of an unnamed namespace that two source files of one target have: they collide when the files are compiled as one.

Which files are compiled together changes with each file that comes or goes (meson's `unity_size`), so no two files of
a target may share such a name, whether they stand together today or not.
usage: unity_names.py BUILD_FOLDER    prints `file:line: name: also in file:line`, status 1 when there is one
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

KINDS = {"class", "enum", "enumerator", "function", "struct", "typedef", "union", "variable"}
UNITY_FILE = re.compile(r"-unity\d+\.cpp$")
UNNAMED = re.compile(r"::__anon[0-9a-f]+$|^__anon[0-9a-f]+$")


def targets_of(build):
    """The .cpp files of each target that is compiled as one, by name of the target."""
    targets = json.loads((build / "meson-info" / "intro-targets.json").read_text())
    for target in targets:
        files = set()
        for group in target["target_sources"]:
            for source in group.get("generated_sources", []):
                if UNITY_FILE.search(source) and os.path.exists(source):
                    files.update(re.findall(r'^#include\s*[<"](.+)[>"]', pathlib.Path(source).read_text(), re.MULTILINE))
        files = sorted(os.path.realpath(file) for file in files)
        if len(files) > 1:
            yield target["name"], files


def file_local_names(files):
    """(scope, name, signature of a function) -> [(file, line)] of what stands in an unnamed namespace, or is static."""
    output = subprocess.run(
        ["ctags", "-f", "-", "--languages=C++", "--language-force=C++", "--kinds-C++=cegfstuv", "--output-format=json",
         "--fields=+SsnKZe", "--sort=no", *files], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        tag = json.loads(line)
        scope = tag.get("scope", "")
        unnamed = UNNAMED.search(scope)
        static_function = tag["kind"] == "function" and tag.get("scopeKind") == "namespace" and "/^static " in tag["pattern"]
        # An alias may be repeated as long as it means the same; GoogleTest's macros make names of their arguments.
        alias = tag["pattern"] if tag["kind"] == "typedef" else ""
        if tag["name"].startswith("TEST") or tag["kind"] not in KINDS or tag["name"].startswith("__anon") or not (unnamed or static_function):
            continue
        signature = re.sub(r"\s*\b\w+(?=[,)])", "", tag.get("signature", "")) if tag["kind"] == "function" else ""
        yield (UNNAMED.sub("", scope), tag["name"], signature), (tag["path"], tag["line"], alias)


def collisions(files):
    locations = collections.defaultdict(dict)
    aliases = collections.defaultdict(set)
    for name, (file, line, alias) in file_local_names(files):
        locations[name].setdefault(file, line)
        aliases[name].add(alias)
    for name, found in sorted(locations.items()):
        same_alias = aliases[name] != {""} and len(aliases[name]) == 1
        if len(found) > 1 and not same_alias:
            yield "{}::{}{}".format(*name), sorted(found.items())


def main(build):
    found = 0
    for target, files in targets_of(pathlib.Path(build)):
        for name, locations in collisions(files):
            (file, line), *others = [(os.path.relpath(file), line) for file, line in locations]
            print(f"{file}:{line}: {name} of {target}: also in " + ", ".join(f"{other}:{at}" for other, at in others))
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
