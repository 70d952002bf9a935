# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What `meson install` puts down, and that a program outside the tree can be built with it.

Oracle: the names promised in docs and CONTRIBUTING (three programs, the library with its soname, the public
headers, the pkg-config file, the CMake package), and programs of a stranger that say what they computed with the library.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import PYTHON, build_option, run as run_alone

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DTRAIN_BUILD", SOURCE / "build")).resolve()
CONSUMER = """
#include <dtrain/cpuset.hpp>
#include <dtrain/version.hpp>
#include <iostream>
int main() { std::cout << dtrain::version << ' ' << dtrain::CpuSet::parse("7,0-2").to_string() << '\\n'; }
"""


def run(*command, cwd=None, **environment):
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout}"
    return done.stdout


@pytest.fixture
def no_sanitizers():
    sanitizers = build_option("b_sanitize")
    if sanitizers != "none":
        pytest.skip(f"a program outside the build has no {sanitizers} sanitizer to link libdtrain with")


@pytest.fixture
def consumer(tmp_path, no_sanitizers):
    """consumer(pc_directory): the program built with what pkg-config says there, and the library's directory."""
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


def installed_examples(prefix):
    return prefix / "share/dtrain/examples"


def version():
    return json.loads((BUILD / "meson-info/intro-projectinfo.json").read_text())["version"]


def numbers():
    """The version as file names and CMake have it: without the -dev of what is not released."""
    return re.match(r"\d+\.\d+\.\d+", version()).group()


def test_programs(prefix):
    for name in ("dtrain-launch", "dtrain-run", "dtrain-worker"):
        assert os.access(prefix / "bin" / name, os.X_OK)
    assert os.readlink(prefix / "bin/fleetrun") == "dtrain-launch"
    assert os.access(prefix / "libexec/dtrain/dtrain-native", os.X_OK)


@pytest.mark.parametrize("program", ["dtrain-launch", "dtrain-run", "dtrain-worker", "fleetrun"])
def test_programs_start_where_they_were_moved_to(prefix, program):
    assert program.replace("fleetrun", "dtrain-launch") in run(str(prefix / "bin" / program), "--help")


def test_every_public_header_and_no_other(prefix):
    source = SOURCE / "include/dtrain"
    public = {str(path.relative_to(source)).removesuffix(".in") for path in source.rglob("*.h*")}
    installed = prefix / "include/dtrain"
    assert {str(path.relative_to(installed)) for path in installed.rglob("*.h*")} == public


def test_example_job(prefix):
    built = {path.name for path in (BUILD / "src/share/dtrain/examples").iterdir() if path.suffix in (".toml", ".h5")}
    assert built
    assert built <= {path.name for path in installed_examples(prefix).iterdir()}


def test_every_example_in_cpp_is_installed_as_it_is(prefix):
    """With what builds and feeds it. Oracle: the folders of examples/."""
    kinds = ("*/*.cpp", "*/*.py", "*/CMakeLists.txt", "*/meson.build", "README.md")
    sources = {path.relative_to(SOURCE / "examples") for kind in kinds for path in (SOURCE / "examples").glob(kind)}
    installed = installed_examples(prefix)
    assert {path.relative_to(installed) for path in installed.glob("*/*")} | {Path("README.md")} == sources
    for path in sources:
        assert (installed / path).read_bytes() == (SOURCE / "examples" / path).read_bytes()


def test_library_has_a_soname(prefix):
    library = installed_library(prefix) / "libdtrain.so"
    soname = f"libdtrain.so.{version().split('.')[0]}"
    assert library.resolve().name == f"libdtrain.so.{numbers()}"
    assert (installed_library(prefix) / soname).resolve() == library.resolve()
    assert f"[{soname}]" in run("readelf", "-d", str(library))


def test_modules_are_found_from_where_they_lie(prefix):
    """Only what is linked with lies among the libraries; programs and library search the folder of the modules."""
    library = installed_library(prefix)
    modules = library / "dtrain"
    assert (modules / "libdtrain_trace_mpi.so").is_file()
    assert [path.name for path in library.glob("*.so") if path.name != "libdtrain.so"] == []
    for file in (library / "libdtrain.so", *(prefix / name for name in ("bin/dtrain-launch", "bin/dtrain-worker", "libexec/dtrain/dtrain-native"))):
        searched = re.search(r"RUNPATH.*\[(.*)\]", run("readelf", "-d", str(file)))[1].replace("$ORIGIN", str(file.parent))
        assert modules.resolve() in [Path(folder).resolve() for folder in searched.split(":")], file


def test_the_library_that_records_calls_of_mpi_is_found(prefix, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(prefix, again, symlinks=True)  # LD_PRELOAD takes no path with a space
    run(str(again / "bin/dtrain-launch"), "--no-banner", "--trace-mpi", "sh", "-c", 'echo "$LD_PRELOAD" > preloaded', cwd=tmp_path)
    preloaded = Path((tmp_path / "preloaded").read_text().strip())
    assert preloaded.resolve() == (installed_library(again) / "dtrain/libdtrain_trace_mpi.so").resolve()


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


@pytest.fixture
def cmake(monkeypatch):
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    if shutil.which("make") is None:  # which CMake takes unless told; ninja is there, as dtrain needs it
        monkeypatch.setenv("CMAKE_GENERATOR", "Ninja")


DIGITS = SOURCE / "examples/digits.h5"
# How each of examples/*/*.cpp but model/digits.cpp, which is built in every way, is built here.
EXAMPLES = {
    "find_package": ["layer/digits", "layer/digits_ranks", "layer/lenet", "layer/lenet_ranks"],
    "pkg-config": ["layer/linear_net", "loop/digits", "own_kernels/train", "spawn/regression"],
    "meson": ["mnist/mnist", "tutorial/alone", "tutorial/ranks"],
    "g++": ["libtorch/train"],
}
# How each is run for a short time: ranks (0: by itself), arguments, and what it says last.
RUNS = {
    "layer/digits": (0, [DIGITS], r"test acc is: 0\.9\d+"),
    "layer/digits_ranks": (2, [DIGITS], r"test acc is: 0\.9\d+"),
    "layer/lenet": (0, [DIGITS], r"test acc is: 0\.9\d+"),
    "layer/lenet_ranks": (2, [DIGITS], r"test acc is: 0\.9\d+"),
    "layer/linear_net": (0, ["3", "2"], r"(\[[01]\] loss: \d\.\d{4}\s){4}"),
    "libtorch/train": (2, [], "ranks 2, parameters identical"),
    "loop/digits": (2, [DIGITS], r"ranks 2, test accuracy 0\.9\d+, parameters identical"),
    "mnist/mnist": (2, ["digits-idx", "--steps", "5", "--every", "1"], r"ranks: 2, steps: 5, test accuracy: 0\.\d{4}"),
    "own_kernels/train": (2, [], "ranks 2, parameters identical"),
    "spawn/regression": (0, ["3", "2"], r"(\[[01]\] loss: \d\.\d{6}\s){4}"),
    "tutorial/alone": (0, [DIGITS, "1"], r"epoch   1  loss .* eval_accuracy 0\.\d{4}"),
    "tutorial/ranks": (2, [DIGITS, "1"], r"epoch   1  loss .* eval_accuracy 0\.\d{4}"),
}


def target(example):
    return example.replace("/", "-")


def works(example, program):
    ranks, arguments, last = RUNS[example]
    command = ["mpirun", "--oversubscribe", "-np", ranks] if ranks else []
    done = run_alone([*command, program, *arguments], program.parent, CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(last + r"\s*\Z", done.stdout), done.stdout + done.stderr


def test_every_example_is_built_with_an_installed_dtrain():
    """Oracle: the folder."""
    sources = {str(path.relative_to(SOURCE / "examples").with_suffix("")) for path in (SOURCE / "examples").glob("*/*.cpp")}
    built = [example for examples in EXAMPLES.values() for example in examples]
    assert sorted([*built, "model/digits"]) == sorted(sources) and RUNS.keys() == set(built)


def trains(program):
    """The example says what it has learnt; one epoch would do, it has 20."""
    printed = run(str(program), str(SOURCE / "examples/digits.h5"), cwd=program.parent, OMP_NUM_THREADS="1")
    assert re.search(r"eval_accuracy 0\.9\d+\ntest loss .*\nranks 1, parameters [0-9a-f]{16}\n$", printed), printed


@pytest.mark.parametrize("way", ["find_package", "pkg-config"])
def test_example_for_cmake(prefix, tmp_path, cmake, no_sanitizers, way):
    if way == "find_package":
        where = [f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror"]
        environment = {}
    else:
        where, environment = ["-DWITH_PKG_CONFIG=ON"], {"PKG_CONFIG_PATH": str(installed_library(prefix) / "pkgconfig")}
    run("cmake", "-S", str(installed_examples(prefix) / "cmake"), "-B", str(tmp_path / "build"), *where, **environment)
    run("cmake", "--build", str(tmp_path / "build"))
    program = tmp_path / "build/digits"
    assert str(installed_library(prefix).resolve()) in run("ldd", str(program))
    trains(program)
    assert [path.name for path in (tmp_path / "build").glob("layer-*")] == [], "nobody asked for it"
    run("cmake", "--build", str(tmp_path / "build"), "-j2", "--target", *map(target, EXAMPLES[way]))
    for example in EXAMPLES[way]:
        works(example, tmp_path / "build" / target(example))


def test_versions_that_find_package_takes(prefix, tmp_path, cmake):
    """Oracle: SemVer; the same major version, and no older one than asked for."""
    major = int(version().split(".")[0])
    takes = ["", f"{major}", numbers(), f"{numbers()} EXACT", f"{major}.0", f"{major}.0...{major}.999"]
    takes_not = [f"{major + 1}", f"{major}.999", f"{major}.999 EXACT", f"0...<{numbers()}",
                 f"{major + 1}...{major + 2}"]
    asks = "".join(f"unset(dtrain_FOUND)\nunset(dtrain_DIR CACHE)\nfind_package(dtrain {wanted} QUIET)\n"
                   f'message(STATUS "{wanted}: ${{dtrain_FOUND}}")\n' for wanted in takes + takes_not)
    # Without a language CMake does not look into lib/x86_64-linux-gnu.
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.19)\nproject(asks LANGUAGES CXX)\n{asks}")
    output = run("cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), f"-DCMAKE_PREFIX_PATH={prefix}")
    found = dict(re.findall(r"^-- (.*): ([01])$", output, re.M))
    assert found == dict.fromkeys(takes, "1") | dict.fromkeys(takes_not, "0"), output


def test_example_for_meson_with_an_installed_dtrain(prefix, tmp_path, no_sanitizers):
    run("meson", "setup", str(tmp_path / "build"), str(installed_examples(prefix) / "meson"), "--wrap-mode=nofallback",
        "-Dwarning_level=3", "-Dwerror=true", PKG_CONFIG_PATH=str(installed_library(prefix) / "pkgconfig"))
    run("meson", "compile", "-C", str(tmp_path / "build"))
    trains(tmp_path / "build/digits")
    run("meson", "compile", "-C", str(tmp_path / "build"), "-j2", *map(target, EXAMPLES["meson"]))
    run(PYTHON, str(installed_examples(prefix) / "mnist/digits_as_idx.py"), str(tmp_path / "build/digits-idx"))
    for example in EXAMPLES["meson"]:
        works(example, tmp_path / "build" / target(example))


@pytest.mark.xdist_group("examples")  # test_examples has compiled it
def test_example_with_libtorch_and_an_installed_dtrain(prefix, torch_program):
    assert str(installed_library(prefix).resolve()) in run("ldd", str(torch_program))
    works("libtorch/train", torch_program)


def test_example_for_meson_with_a_subproject(tmp_path):
    """Only the library, with its modules, is part of another project's build; DTRAIN_STRESS=1 builds all of it."""
    shutil.copytree(SOURCE / "examples", tmp_path / "examples")
    (tmp_path / "examples/meson/subprojects").mkdir()
    (tmp_path / "examples/meson/subprojects/dtrain").symlink_to(SOURCE)
    build = tmp_path / "build"
    run("meson", "setup", str(build), str(tmp_path / "examples/meson"), "--force-fallback-for=dtrain")
    targets = [target for target in json.loads(run("meson", "introspect", "--targets", str(build)))
               if target["subproject"] or target["build_by_default"]]
    kinds = {(target["name"], target["type"]) for target in targets}
    assert {("digits", "executable"), ("dtrain", "shared library")} <= kinds
    modules = {(name, "shared module") for name in ("dtrain_gpu", "dtrain_nccl", "dtrain_prometheus", "dtrain_trace_mpi")}
    modules |= {(name, kind) for name, kind in kinds if kind == "custom" and name.endswith(".cu.o")}
    assert {name for name, kind in kinds - modules if kind != "static library"} == {"digits", "dtrain"}, "more than the library"
    assert not {"dtrain_launch", "dtrain_native", "alone"} & {name for name, kind in kinds}
    if os.environ.get("DTRAIN_STRESS") == "1":
        subprocess.run(["nice", "meson", "compile", "-C", str(build)], check=True, timeout=3600, stdout=subprocess.DEVNULL)
        trains(build / "digits")
