# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What `meson install` puts down, and that a program outside the tree can be built with it.

Oracle: the names promised in docs and CONTRIBUTING (three programs, the library with its soname, the public
headers, the pkg-config file), and a program of a stranger that says what it computed with the library.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DTRAIN_BUILD", SOURCE / "build")).resolve()
CONSUMER = """
#include <dtrain/cpuset.hpp>
#include <dtrain/version.hpp>
#include <iostream>
int main() { std::cout << dtrain::version << ' ' << dtrain::CpuSet::parse("7,0-2").to_string() << '\\n'; }
"""


def build_option(name):
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())
    return next(option["value"] for option in options if option["name"] == name)


def run(*command, **environment):
    done = subprocess.run(command, env={**os.environ, **environment}, text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """A prefix that is not where the build was told that it would be installed."""
    destination = tmp_path_factory.mktemp("destination")
    run("meson", "install", "-C", str(BUILD), "--no-rebuild", "--destdir", str(destination))
    moved = tmp_path_factory.mktemp("moved") / "some where else"
    shutil.move(destination / Path(build_option("prefix")).relative_to("/"), moved)
    return moved


@pytest.fixture
def consumer(tmp_path):
    """consumer(pc_directory): the program built with what pkg-config says there, and the library's directory."""
    sanitizers = build_option("b_sanitize")
    if sanitizers != "none":
        pytest.skip(f"a program outside the build has no {sanitizers} sanitizer to link libdtrain with")

    def compiled(pc_directory, package="dtrain"):
        def pkg_config(*arguments):
            # pkg-config's answer is shell text: it escapes the spaces in directories.
            return run("pkg-config", *arguments, package, PKG_CONFIG_PATH=str(pc_directory)).strip()
        source = tmp_path / "consumer.cpp"
        source.write_text(CONSUMER)
        program = tmp_path / "consumer"
        run("sh", "-c", f"c++ -std=c++20 -o '{program}' '{source}' {pkg_config('--cflags', '--libs')}")
        libraries = re.search(r"-L((?:\\.|\S)+)", pkg_config("--libs")).group(1).replace("\\", "")
        return program, Path(libraries)
    return compiled


def installed_library(prefix):
    return prefix / build_option("libdir")


def version():
    return json.loads((BUILD / "meson-info/intro-projectinfo.json").read_text())["version"]


def test_programs(prefix):
    for name in ("dtrain-launch", "dtrain-worker"):
        assert os.access(prefix / "bin" / name, os.X_OK)
    assert os.readlink(prefix / "bin/fleetrun") == "dtrain-launch"
    assert os.access(prefix / "libexec/dtrain/dtrain-native", os.X_OK)


@pytest.mark.parametrize("program", ["dtrain-launch", "dtrain-worker", "fleetrun"])
def test_programs_start_where_they_were_moved_to(prefix, program):
    assert program.replace("fleetrun", "dtrain-launch") in run(str(prefix / "bin" / program), "--help")


def test_every_public_header_and_no_other(prefix):
    public = {path.name.removesuffix(".in") for path in (SOURCE / "include/dtrain").glob("*.hpp*")}
    assert {path.name for path in (prefix / "include/dtrain").iterdir()} == public


def test_example_job(prefix):
    built = {path.name for path in (BUILD / "src/share/dtrain/examples").iterdir() if path.suffix in (".toml", ".h5")}
    assert built
    assert built <= {path.name for path in (prefix / "share/dtrain/examples").iterdir()}


def test_library_has_a_soname(prefix):
    library = installed_library(prefix) / "libdtrain.so"
    soname = f"libdtrain.so.{version().split('.')[0]}"
    assert library.resolve().name == f"libdtrain.so.{version()}"
    assert (installed_library(prefix) / soname).resolve() == library.resolve()
    assert f"[{soname}]" in run("readelf", "-d", str(library))


def test_nothing_points_back_into_the_build(prefix):
    for file in [path for path in prefix.rglob("*") if path.is_file() and not path.is_symlink()]:
        if file.read_bytes()[:4] == b"\x7fELF":
            dynamic = run("readelf", "-d", str(file))
            assert str(BUILD) not in dynamic and str(SOURCE) not in dynamic, file


def test_program_outside_the_tree(prefix, consumer):
    program, libraries = consumer(installed_library(prefix) / "pkgconfig")
    assert libraries.resolve() == installed_library(prefix).resolve()
    assert run(str(program), LD_LIBRARY_PATH=str(libraries)) == f"{version()} 0-2,7\n"


def test_program_outside_the_tree_after_another_move(prefix, consumer, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(prefix, again, symlinks=True)
    program, libraries = consumer(installed_library(again) / "pkgconfig")
    assert libraries.resolve() == installed_library(again).resolve()
    assert run(str(program), LD_LIBRARY_PATH=str(libraries)) == f"{version()} 0-2,7\n"


def test_program_built_with_a_build_that_is_not_installed(consumer):
    program, libraries = consumer(BUILD / "meson-uninstalled")
    assert libraries.resolve() == BUILD / "src"
    assert run(str(program), LD_LIBRARY_PATH=str(libraries)) == f"{version()} 0-2,7\n"
