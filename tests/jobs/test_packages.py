# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The files that make packages of dtrain.

Oracle: the one list of packages that dtrain is built with, docs/packages/debian.txt; the libraries that the built
programs ask the linker for; and Lmod itself, whose module must find the programs where the tree was moved to. The
packages themselves are built with DTRAIN_STRESS=1: that compiles everything anew.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DTRAIN_BUILD", SOURCE / "build")).resolve()
PACKAGES = SOURCE / "docs/packages"
LMOD = Path("/usr/share/lmod/lmod/libexec/lmod")
# A compiler is there wherever Debian packages are built, and ninja comes with meson.
BROUGHT_ALONG = {"g++", "ninja-build", "openmpi-bin"}
# A package is compiled once.
ONLY_FASTER = {"ccache"}
# A Debian system is not without them, or they come with openmpi-bin.
ALWAYS_THERE = {"libc6", "libgcc-s1", "libstdc++6", "libopenmpi3"}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, timeout=options.pop("timeout", 120), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **options)


def listed(*kinds):
    lines = [line.split() for line in (PACKAGES / "debian.txt").read_text().splitlines() if not line.startswith("#")]
    return {words[0] for words in lines if words and words[1] in kinds}


def test_debian_packages_are_built_with_the_packages_of_the_list():
    text = re.search(r"^Build-Depends:((?:.*\n)(?:^ .*\n)*)", (PACKAGES / "debian/control").read_text(), re.M).group(1)
    names = {entry.split()[0] for entry in text.split(",")}
    assert names - {"debhelper-compat"} == listed("required", "optional") - BROUGHT_ALONG - ONLY_FASTER


def needed(program):
    return set(re.findall(r"NEEDED +(\S+)", run("objdump", "-p", program).stdout))


def test_the_container_has_the_libraries_of_the_programs():
    if shutil.which("dpkg-query") is None or shutil.which("objdump") is None:
        pytest.skip("asks Debian's dpkg-query and objdump")
    programs = [BUILD / "src/bin/dtrain-launch", BUILD / "src/bin/dtrain-worker", BUILD / "src/libdtrain.so",
                *(path for path in (BUILD / "src/libexec/dtrain").glob("dtrain-*") if path.is_file())]
    libraries = {name for program in programs for name in needed(program)}
    libraries = {name for name in libraries if not re.match(r"lib(a|ub|t)san", name)}
    installed = set(re.search(r"Stage: run.*?apt-get install -y --no-install-recommends(.*?)\n    rm", (PACKAGES / "dtrain.def").read_text(),
                              re.S).group(1).replace("\\\n", " ").split())
    assert len(libraries) > 10
    for library in sorted(libraries):
        owners = {line.split(":")[0] for line in run("dpkg-query", "-S", f"*/{library}").stdout.splitlines()}
        assert owners & (installed | ALWAYS_THERE), f"{library} is of {owners or 'no package'}"


def module(prefix, *command):
    """What a shell has and says that did `module COMMAND...`."""
    script = f'eval "$({LMOD} bash use "{prefix}/share/dtrain/modulefiles")"; ' + "; ".join(
        f'eval "$({LMOD} bash {words})"' if words.startswith(("load", "unload")) else words for words in command)
    return run("bash", "-c", script, env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})


def test_lmod_loads_and_unloads_it(prefix, tmp_path):
    if not LMOD.exists():
        pytest.skip("Lmod is not installed (Debian: lmod)")
    place = tmp_path / "dtrain"  # the prefix has spaces, which a MODULEPATH cannot have
    place.symlink_to(prefix)
    loaded = module(place, "load dtrain", "command -v dtrain-launch fleetrun", "dtrain-launch --version",
                    "pkg-config --variable=prefix dtrain", "unload dtrain", "command -v dtrain-launch || echo gone")
    paths = loaded.stdout.splitlines()
    assert paths[:2] == [f"{place}/bin/dtrain-launch", f"{place}/bin/fleetrun"], loaded.stderr
    assert re.search(r"\d+\.\d+\.\d+", paths[2])
    assert Path(paths[3]).resolve() == prefix
    assert paths[-1] == "gone"


@pytest.mark.parametrize(("arguments", "complaint"), [
    (["--fast"], "make-deb: unknown option '--fast'; see docs/packages/make-deb --help"),
    (["a", "b"], "make-deb: one folder, not 2; see docs/packages/make-deb --help"),
])
def test_make_deb_refuses_what_it_does_not_know(arguments, complaint, tmp_path):
    refused = run(PACKAGES / "make-deb", *arguments, cwd=tmp_path)
    assert (refused.returncode, refused.stderr.strip()) == (2, complaint)
    assert list(tmp_path.iterdir()) == []


def test_debian_packages(tmp_path):
    if os.environ.get("DTRAIN_STRESS") != "1":
        pytest.skip("compiles everything anew: DTRAIN_STRESS=1")
    if shutil.which("dh") is None:
        pytest.skip("debhelper is not installed")
    made = run(PACKAGES / "make-deb", tmp_path, timeout=3000)
    assert made.returncode == 0, made.stderr
    content = {deb.name.split("_")[0]: run("dpkg-deb", "-c", deb).stdout for deb in tmp_path.glob("*.deb")}
    for program in ("dtrain-launch", "dtrain-worker", "fleetrun"):
        assert f"./usr/bin/{program}" in content["dtrain"]
    assert re.search(r"\./usr/lib/\S+/libdtrain\.so\.0", content["libdtrain0"])
    assert "./usr/include/dtrain/communicator.hpp" in content["libdtrain-dev"]
    assert re.search(r"\./usr/lib/\S+/libdtrain\.so ", content["libdtrain-dev"])
