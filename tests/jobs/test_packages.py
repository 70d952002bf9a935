# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The files that make packages of dtrain, and the wraps by which meson brings libraries that a machine lacks.

Oracle: the one list of packages that dtrain is built with, docs/packages/debian.txt; meson_options.txt; the libraries that
the built programs ask the linker for; Lmod itself, whose module must find the programs where the tree was moved to; and
meson itself, which finds in the wraps what dtrain's meson files ask for (their sources are empty files: nothing is downloaded).
With DTRAIN_STRESS=1 the packages themselves are built, which compiles everything anew: judged by lintian, and by a bare
Debian 12 on which they are installed and jobs run.
"""

import configparser
import hashlib
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from conftest import build_option

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DTRAIN_BUILD", SOURCE / "build")).resolve()
PACKAGES = SOURCE / "docs/packages"
LMOD = Path("/usr/share/lmod/lmod/libexec/lmod")
# A compiler is there wherever Debian packages are built, and ninja comes with meson.
BROUGHT_ALONG = {"g++", "ninja-build", "openmpi-bin"}
# A package is compiled once.
ONLY_FASTER = {"ccache"}
# A Debian system is not without them, or they come with openmpi-bin.
ALWAYS_INSTALLED = {"libc6", "libgcc-s1", "libstdc++6", "libopenmpi3"}


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


# Debian's packages are built without CUDA.
NOT_PACKAGED = {"libdtrain_gpu.so", "libdtrain_nccl.so"}


def test_each_installed_file_is_in_one_debian_package(prefix):
    """Oracle: what `meson install` puts down; debian/*.install name it as dh_install's patterns below usr."""
    libraries = prefix / build_option("libdir")
    packages = {}
    for listing in (PACKAGES / "debian").glob("*.install"):
        for pattern in listing.read_text().split():
            at, pattern = (libraries, pattern.removeprefix("usr/lib/*/")) if pattern.startswith("usr/lib/*/") else (
                prefix, pattern.removeprefix("usr/"))
            named = list(at.glob(pattern))
            assert named or listing.name.startswith("libdtrain0"), f"{listing.name}: nothing is {pattern}"
            for path in named:
                for file in path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]:
                    packages.setdefault(file, []).append(listing.stem)
    files = [file for file in prefix.rglob("*") if file.is_symlink() or file.is_file()]
    assert len(files) > 50
    assert {str(file.relative_to(prefix)): packages.get(file, []) for file in files
            if len(packages.get(file, [])) != 1 and file.name not in NOT_PACKAGED} == {}
    assert packages[prefix / "share/dtrain/examples/cmake/CMakeLists.txt"] == ["libdtrain-dev"]
    assert packages[prefix / "share/dtrain/examples/digits.toml"] == ["dtrain"]


def needed(program):
    return set(re.findall(r"NEEDED +(\S+)", run("objdump", "-p", program).stdout))


CONTAINERS = ["dtrain.def", "Dockerfile"]


def container_packages(file):
    """What is installed where the programs run, not where they are built."""
    text = (PACKAGES / file).read_text().replace("\\\n", " ")
    return set(re.search(r"apt-get install -y --no-install-recommends ([^&\n]*)", text).group(1).split())


def test_both_containers_are_built_in_one_way():
    command = re.compile(r"(?:DTRAIN_BUILD=\S+ examples/setup|meson install)[^&\n]*")
    texts = [(PACKAGES / file).read_text().replace("\\\n", " ") for file in CONTAINERS]
    commands = [{" ".join(words.split()) for words in command.findall(text)} for text in texts]
    assert commands[0] == commands[1] and len(commands[0]) == 2
    assert container_packages("dtrain.def") == container_packages("Dockerfile")
    assert_options_exist([word for command in commands[0] for word in command.split() if word.startswith("-D") and "prefix" not in word])


def test_the_container_has_the_libraries_of_the_programs():
    if shutil.which("dpkg-query") is None or shutil.which("objdump") is None:
        pytest.skip("asks Debian's dpkg-query and objdump")
    release = Path("/etc/os-release").read_text() if os.path.exists("/etc/os-release") else ""
    if "VERSION_ID=\"12\"" not in release:
        pytest.skip("the container is a Debian 12, and this is another system: its libraries have other packages")
    programs = [BUILD / "src/bin/dtrain-launch", BUILD / "src/bin/dtrain-worker", BUILD / "src/libdtrain.so",
                *(path for path in (BUILD / "src/libexec/dtrain").glob("dtrain-*") if path.is_file()),
                *(BUILD / "src/scrape").glob("libdtrain_prometheus.so")]
    libraries = {name for program in programs for name in needed(program)}
    libraries = {name for name in libraries if not re.match(r"lib(a|ub|t)san", name)}
    installed = container_packages("dtrain.def")
    assert len(libraries) > 10
    for library in sorted(libraries):
        owners = {line.split(":")[0] for line in run("dpkg-query", "-S", f"*/{library}").stdout.splitlines()}
        assert owners & (installed | ALWAYS_INSTALLED), f"{library} is of {owners or 'no package'}"


def module(prefix, *command):
    """What a shell has and says that did `module COMMAND...`."""
    script = f'eval "$({LMOD} bash use "{prefix}/share/dtrain/modulefiles")"; ' + "; ".join(
        f'eval "$({LMOD} bash {words})"' if words.startswith(("load", "unload")) else words for words in command)
    return run("bash", "-c", script, env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})


def test_lmod_loads_and_unloads_it(prefix, tmp_path):
    if not LMOD.exists():
        pytest.skip("Lmod is not installed (Debian: lmod)")
    link = tmp_path / "dtrain"  # the prefix has spaces, which a MODULEPATH cannot have
    link.symlink_to(prefix)
    loaded = module(link, "load dtrain", "command -v dtrain-launch fleetrun", "dtrain-launch --version",
                    "pkg-config --variable=prefix dtrain", "unload dtrain", "command -v dtrain-launch || echo gone")
    paths = loaded.stdout.splitlines()
    assert paths[:2] == [f"{link}/bin/dtrain-launch", f"{link}/bin/fleetrun"], loaded.stderr
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


def project_version():
    return re.search(r"^  version: '(.*)'", (SOURCE / "meson.build").read_text(), re.M).group(1)


def test_the_changelog_begins_with_the_version():
    heading = re.search(r"^## (\S+), (.*)$", (SOURCE / "CHANGELOG.md").read_text(), re.M)
    assert heading.group(1) == project_version()
    assert ("not released yet" in heading.group(2)) == project_version().endswith("-dev")


# What a package of Debian's is called in Spack, EasyBuild and conda-forge; "-": it comes with the compiler, MPI or meson there.
# EasyBuild has neither RocksDB nor prometheus-cpp.
ELSEWHERE = {
    "g++": ("cxx", "-", '${{ compiler("cxx") }}'), "meson": ("meson", "Meson", "meson"), "ninja-build": ("ninja", "Ninja", "ninja"),
    "pkg-config": ("pkgconfig", "pkgconf", "pkg-config"), "libopenmpi-dev": ("openmpi", "-", "openmpi"),
    "openmpi-bin": ("openmpi", "-", "openmpi"), "libhwloc-dev": ("hwloc", "hwloc", "libhwloc"),
    "libhdf5-dev": ("hdf5", "HDF5", "hdf5"), "libxxhash-dev": ("xxhash", "xxHash", "xxhash"),
    "zlib1g-dev": ("zlib-api", "zlib", "zlib"), "libdnnl-dev": ("onednn", "oneDNN", "onednn"),
    "libabsl-dev": ("abseil-cpp", "Abseil", "libabseil"), "libcli11-dev": ("cli11", "CLI11", "cli11"),
    "libfmt-dev": ("fmt", "fmt", "fmt"), "libspdlog-dev": ("spdlog", "spdlog", "spdlog"),
    "nlohmann-json3-dev": ("nlohmann-json", "nlohmann_json", "nlohmann_json"),
    "libtomlplusplus-dev": ("tomlplusplus", "tomlplusplus", "tomlplusplus"), "libcurl4-openssl-dev": ("curl", "cURL", "libcurl"),
    "librocksdb-dev": ("rocksdb", "-", "rocksdb"), "prometheus-cpp-dev": ("prometheus-cpp", "-", "prometheus-cpp"),
    "libsodium-dev": ("libsodium", "libsodium", "libsodium"),
}


def wanted_elsewhere(where):
    return {ELSEWHERE[name][where] for name in listed("required", "optional") - ONLY_FASTER} - {"-"}


def assert_options_exist(words):
    """-Dname=value, as meson_options.txt has them: features, or a text."""
    kinds = dict(re.findall(r"^option\('(\w+)', type: '(\w+)'", (SOURCE / "meson_options.txt").read_text(), re.M))
    given = [re.fullmatch(r"-D(\w+)=(\S+)", word).groups() for word in words if word.startswith("-D")]
    assert given
    for name, value in given:
        assert kinds[name] == "string" or value in ("enabled", "disabled"), f"-D{name}={value}"


class SpackSpec(dict):
    """As much of a spec as the recipe asks for: its variants, and where other packages lie."""

    def __init__(self, *variants):
        super().__init__()
        self.variants = variants

    def satisfies(self, variant):
        return variant in self.variants

    def __missing__(self, name):
        return types.SimpleNamespace(prefix=types.SimpleNamespace(include=f"/spack/{name}/include"),
                                     libs=types.SimpleNamespace(directories=[f"/spack/{name}/lib"]))


@pytest.fixture
def spack_recipe(monkeypatch):
    """The class of the recipe, and what it said: {directive: [(arguments, options)]}."""
    folder = PACKAGES / "spack/spack_repo/dtrain"
    assert re.search(r"^repo:\n  namespace: dtrain\n  api: v2\.\d+$", (folder / "repo.yaml").read_text(), re.M)
    directives = {}
    api = types.ModuleType("spack.package")
    for name in ("conflicts", "depends_on", "license", "variant", "version"):
        setattr(api, name, lambda *arguments, _name=name, **options: directives.setdefault(_name, []).append((arguments, options)))
    api.EnvironmentModifications = object
    meson = types.ModuleType("spack_repo.builtin.build_systems.meson")
    meson.MesonPackage = object
    for module in (api, meson):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    names = {}
    exec(compile((folder / "packages/dtrain/package.py").read_text(), "package.py", "exec"), names)
    return names["Dtrain"], directives


def test_spack_recipe(spack_recipe):
    recipe, directives = spack_recipe
    names = {re.match(r"[\w-]+", arguments[0]).group() for arguments, _ in directives["depends_on"]}
    assert names - {"cuda", "nccl"} == wanted_elsewhere(0)
    variants = {arguments[0]: options["default"] for arguments, options in directives["variant"]}
    for sign in "+~":
        package = recipe()
        package.spec = SpackSpec(*(sign + name for name in variants))
        words = package.meson_args()
        assert_options_exist(words)
        for name in variants:
            assert f"-D{name}={'enabled' if sign == '+' else 'disabled'}" in words
        paths = []
        package.setup_build_environment(types.SimpleNamespace(append_path=lambda *words: paths.append(words)))
        assert ("CPATH", "/spack/onednn/include") in paths
        assert (("LIBRARY_PATH", "/spack/nccl/lib") in paths) == (sign == "+")


def easybuild_recipe():
    recipes = list((PACKAGES / "easybuild").glob("dtrain-*.eb"))
    assert len(recipes) == 1
    words = {}
    exec(compile(recipes[0].read_text(), str(recipes[0]), "exec"), words)
    return recipes[0], words


def test_easybuild_recipe():
    file, words = easybuild_recipe()
    toolchain = words["toolchain"]
    assert file.name == f"{words['name']}-{words['version']}-{toolchain['name']}-{toolchain['version']}.eb"
    assert {name for name, _ in words["dependencies"] + words["builddependencies"]} == wanted_elsewhere(1)
    assert_options_exist(words["configopts"].split())
    assert {"-Drocksdb=disabled", "-Dprometheus=disabled"} <= set(words["configopts"].split())
    own = {tuple(other.name.split("-")[:2]) for other in file.parent.glob("*.eb")} - {tuple(file.name.split("-")[:2])}
    assert own <= set(words["dependencies"]), "a recipe that nobody asks for"


def test_conda_recipe():
    yaml = pytest.importorskip("yaml", reason="needs python3-yaml")
    recipe = yaml.safe_load((PACKAGES / "conda/recipe.yaml").read_text())
    entries = recipe["requirements"]["build"] + recipe["requirements"]["host"]
    names = {entry if entry.startswith("$") else entry.split()[0] for entry in entries}
    assert names - {'${{ stdlib("c") }}'} == wanted_elsewhere(2)
    assert_options_exist(" ".join(recipe["build"]["script"]).split())


def recipe_versions(packages):
    """(version, checksum of the tarball, the commit that it is of) by recipe."""
    spack = (packages / "spack/spack_repo/dtrain/packages/dtrain/package.py").read_text()
    easybuild = next((packages / "easybuild").glob("dtrain-*.eb")).read_text()
    conda = (packages / "conda/recipe.yaml").read_text()

    def found(pattern, text):
        return re.search(pattern, text, re.M).groups()
    commit = r"version and checksum: of commit ([0-9a-f]+)\.$"
    return {
        "Spack": found(r'^    version\("(\d[^"]*)", sha256="([0-9a-f]{64})"\)$', spack) + found(commit, spack),
        "EasyBuild": found(r"^version = '(.*)'$", easybuild) + found(r"^checksums = \['([0-9a-f]{64})'\]$", easybuild) + found(commit, easybuild),
        "conda": found(r'^  release: "(.*)"$', conda) + found(r'^  sha256: "([0-9a-f]{64})"$', conda) + found(commit, conda),
    }


def test_recipes_are_of_one_tarball():
    assert len(set(recipe_versions(PACKAGES).values())) == 1


@pytest.mark.parametrize(("arguments", "complaint"), [
    (["--fast"], "make-tarball: unknown option '--fast'; see docs/packages/make-tarball --help"),
    (["--recipes", "a", "b"], "make-tarball: one folder, not 2; see docs/packages/make-tarball --help"),
])
def test_make_tarball_refuses_what_it_does_not_know(arguments, complaint, tmp_path):
    refused = run(PACKAGES / "make-tarball", *arguments, cwd=tmp_path)
    assert (refused.returncode, refused.stderr.strip()) == (2, complaint)
    assert list(tmp_path.iterdir()) == []


SUBPROJECTS = SOURCE / "subprojects"
WRAPS = sorted(SUBPROJECTS.glob("*.wrap"))
# Of the machine and its cluster, or large: no wraps. docs/development.md says where a user gets them from.
NOT_WRAPPED = {"threads", "openmp", "mpi", "ompi-c", "mpich", "hwloc", "hdf5", "hdf5-serial", "hdf5-openmpi", "hdf5-mpi", "zlib",
               "libsodium", "libcurl", "rocksdb", "prometheus-cpp-core"}


def dependencies_of_build():
    files = [SOURCE / "meson.build", *(SOURCE / "src").rglob("meson.build"), *(SOURCE / "tests").rglob("meson.build"),
             *(SOURCE / "benchmarks").rglob("meson.build")]
    calls = [call for file in files for call in re.findall(r"\bdependency\(((?:'[^']*'(?:, )?)+)", file.read_text())]
    return {name.lower() for call in calls for name in re.findall(r"'([^']+)'", call)}


def wrap_of(file):
    wrap = configparser.ConfigParser(interpolation=None)
    wrap.read(file)
    return wrap


def provided(wrap):
    """The names that meson finds in a wrap, in lower case as meson compares them: {name: variable, None where overridden}."""
    names = dict(wrap["provide"])
    overridden = names.pop("dependency_names", "")
    return {**names, **{name.strip().lower(): None for name in overridden.split(",") if name.strip()}}


def test_wraps_provide_what_the_build_asks_for():
    names = [name for file in WRAPS for name in provided(wrap_of(file))]
    assert len(names) == len(set(names)), "two wraps provide one name"
    assert set(names) == dependencies_of_build() - NOT_WRAPPED


@pytest.mark.parametrize("file", WRAPS, ids=lambda file: file.stem)
def test_a_wrap_is_of_one_release(file):
    wrap = wrap_of(file)
    kind = {"wrap-file", "wrap-git"} & set(wrap.sections())
    assert len(kind) == 1 and set(wrap.sections()) == kind | {"provide"}
    source = wrap[kind.pop()]
    if "revision" in source:
        assert source["url"].startswith("https://") and re.fullmatch("[0-9a-f]{40}", source["revision"])
    else:
        assert source["source_url"].startswith("https://") and source.get("source_fallback_url", "https://").startswith("https://")
        assert re.fullmatch("[0-9a-f]{64}", source["source_hash"])
    recipe = (SUBPROJECTS / "packagefiles" / source["patch_directory"] / "meson.build").read_text()
    version = re.search(r"^project\('[^']+', '\w+', version: '([^']+)', license: '[^']+', meson_version: '>=1\.0\.0'", recipe, re.M).group(1)
    assert version in source["directory"] and version in source.get("source_url", version)
    assert "install: true" not in recipe and "install_" not in recipe, "it would be installed with dtrain"


def test_the_manual_has_the_versions_of_the_wraps():
    text = (SOURCE / "docs/development.md").read_text()
    section = text[text.index("### Without root"):text.index("## Tests")]
    for file in (SUBPROJECTS / "packagefiles").glob("*/meson.build"):
        version = re.search(r"version: '([^']+)'", file.read_text()).group(1)
        assert re.search(rf"^\|.*\b{re.escape(version)}\b", section, re.M), f"{file.parent.name} {version}"


def test_wraps_name_the_packages_they_stand_for():
    """By these lines examples/setup does not ask for a package that a wrap replaces."""
    named = [re.search(r"^# Debian: (.*)$", file.read_text(), re.M).group(1).split() for file in WRAPS]
    assert all(named) and {name for names in named for name in names} <= listed("required", "tests")


@pytest.fixture
def setup_without_root(tmp_path):
    """What examples/setup says to somebody without root and sudo, where these packages are missing and meson fails."""
    tree = tmp_path / "tree"
    for name in ("examples/setup", "examples/progress", "docs/packages/debian.txt", *(f"subprojects/{file.name}" for file in WRAPS)):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, tree / name)
    programs = tmp_path / "bin"
    programs.mkdir()

    def program(name, script):
        (programs / name).write_text("#!/bin/sh\n" + script)
        (programs / name).chmod(0o755)

    def without(*missing):
        program("id", "echo 1000\n")
        program("sudo", "exit 1\n")
        program("meson", "echo 'meson: no'\nexit 1\n")
        program("dpkg-query", 'for name; do case " %s " in *" $name "*) ;; *) printf "%%s=installed " "$name" ;; esac; done\n' % " ".join(missing))
        return run(tree / "examples/setup", env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path)}, cwd=tmp_path)
    return without


def test_setup_without_root_takes_wraps_for_missing_packages(setup_without_root):
    done = setup_without_root("libfmt-dev", "libabsl-dev", "librocksdb-dev", "libgtest-dev")
    lines = done.stdout.splitlines()
    assert "Downloaded and built by meson, as the packages are missing: libabsl-dev libfmt-dev" in lines
    assert ["Done without" in line for line in lines].count(True) == 1
    without = next(line for line in lines if "Done without" in line)
    assert "librocksdb-dev" in without and "libfmt-dev" not in without
    assert done.returncode == 1 and "configuring failed" in done.stderr


def test_setup_without_root_asks_for_what_is_no_wrap(setup_without_root):
    done = setup_without_root("libfmt-dev", "libhwloc-dev")
    assert done.returncode == 2
    assert "  apt-get install -y --no-install-recommends libhwloc-dev" in done.stderr.splitlines()


def test_each_folder_of_packagefiles_has_its_wrap():
    folders = {path.name for path in (SUBPROJECTS / "packagefiles").iterdir()}
    assert folders == {section["patch_directory"] for file in WRAPS for section in wrap_of(file).values() if "patch_directory" in section}


def empty_sources(folder, recipe):
    """A folder as a release's, whose sources are empty."""
    shutil.copytree(recipe, folder)
    for name in re.findall(r"'([\w./+-]+)'", (folder / "meson.build").read_text()):
        if name.endswith((".c", ".cc", ".cpp")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
    for names in re.findall(r"include_directories\(([^)]*)", (folder / "meson.build").read_text()):
        for name in re.findall(r"'([^']+)'", names):
            (folder / name).mkdir(parents=True, exist_ok=True)


def test_meson_finds_in_the_wraps_what_they_provide(tmp_path):
    project = tmp_path / "project"
    shutil.copytree(SUBPROJECTS / "packagefiles", project / "subprojects/packagefiles")
    for file in WRAPS:
        shutil.copy(file, project / "subprojects")
        source = next(section for section in wrap_of(file).values() if "patch_directory" in section)
        empty_sources(project / "subprojects" / source["directory"], SUBPROJECTS / "packagefiles" / source["patch_directory"])
    names = {name for file in WRAPS for name in provided(wrap_of(file))}
    calls = re.findall(r"^ *(\w+ = dependency\('([^']+)'.*)$", (SOURCE / "meson.build").read_text(), re.M)
    matching = [call for call, name in calls if name.lower() in names]
    assert len(matching) >= len(WRAPS)
    text = re.sub(r"required: \w+", "required: true", "\n".join(matching))
    (project / "meson.build").write_text("project('asks', 'cpp', meson_version: '>=1.0.0', default_options: ['cpp_std=c++20'])\n"
                                         f"{text}\ndependency('absl_flat_hash_map')\n")
    forced = run("meson", "setup", tmp_path / "build", project, "--wrap-mode=nodownload",
                 "--force-fallback-for=" + ",".join(sorted({file.stem for file in WRAPS})))
    assert forced.returncode == 0, forced.stdout
    found = set(re.findall(r"^Dependency (\S+) .*found: YES", forced.stdout, re.M))
    assert {name.lower() for name in found} == names, forced.stdout
    installed = run("meson", "introspect", "--installed", tmp_path / "build")
    assert installed.stdout.strip() == "{}"


def stress():
    if os.environ.get("DTRAIN_STRESS") != "1":
        pytest.skip("compiles everything anew: DTRAIN_STRESS=1")
    if not (SOURCE / ".git").exists():
        pytest.skip("packages are made of commits, and this is no clone")


def test_the_tarball_builds_and_its_checksum_is_in_the_recipes(tmp_path):
    stress()
    clone, build = tmp_path / "clone", tmp_path / "build"
    assert run("git", "clone", "-q", SOURCE, clone).returncode == 0
    configured = run("meson", "setup", build, clone, "-Dtests=disabled", "-Dcuda=disabled", timeout=600)
    assert configured.returncode == 0, configured.stdout
    made = run(clone / "docs/packages/make-tarball", "--recipes", tmp_path, env={**os.environ, "DTRAIN_BUILD": str(build)}, timeout=900)
    assert made.returncode == 0, made.stderr
    version = project_version()
    tarball = tmp_path / f"dtrain-{version}.tar.xz"
    checksum = hashlib.sha256(tarball.read_bytes()).hexdigest()
    assert made.stdout.split() == [checksum, str(tarball)]
    assert (tmp_path / f"{tarball.name}.sha256sum").read_text().split() == [checksum, tarball.name]
    again = run(clone / "docs/packages/make-tarball", tmp_path, env={**os.environ, "DTRAIN_BUILD": str(build)}, timeout=900)
    assert again.stdout == made.stdout, "another tarball of the same commit"
    commit = run("git", "-C", clone, "rev-parse", "--short=12", "HEAD").stdout.strip()
    assert set(recipe_versions(clone / "docs/packages").values()) == {(version, checksum, commit)}
    assert next((clone / "docs/packages/easybuild").glob("dtrain-*.eb")).name.startswith(f"dtrain-{version}-foss-")

    assert run("tar", "-x", "-C", tmp_path, "-f", tarball).returncode == 0
    tree = tmp_path / f"dtrain-{version}"
    assert not (tree / ".git").exists()
    # What this clone has compiled already is in the compiler's cache, if there is one.
    built = run(tree / "examples/setup", "--programs", "-Dcuda=disabled", timeout=3000,
                env={**os.environ, "DTRAIN_PACKAGES": "ignore", "DTRAIN_BUILD": str(tree / "build")})
    assert built.returncode == 0, built.stderr
    assert run(tree / "build/src/bin/dtrain-launch", "--version").stdout == f"dtrain {version}\n"


@pytest.fixture(scope="module")
def made_packages(tmp_path_factory):
    """The folder of the Debian packages of the last commit; DTRAIN_DEBS=FOLDER: of those that make-deb made there before."""
    stress()
    if os.environ.get("DTRAIN_DEBS"):
        return Path(os.environ["DTRAIN_DEBS"])
    if shutil.which("dh") is None:
        pytest.skip("debhelper is not installed")
    folder = tmp_path_factory.mktemp("deb")
    made = run(PACKAGES / "make-deb", folder, timeout=6000)
    assert made.returncode == 0, made.stderr
    return folder


def test_debian_packages(made_packages):
    content = {deb.name.split("_")[0]: run("dpkg-deb", "-c", deb).stdout for deb in made_packages.glob("*.deb")}
    for program in ("dtrain-launch", "dtrain-worker", "fleetrun"):
        assert f"./usr/bin/{program}" in content["dtrain"]
        assert f"./usr/share/man/man1/{program}.1.gz" in content["dtrain"]
        assert f"./usr/share/bash-completion/completions/{program}" in content["dtrain"]
    assert re.search(r"\./usr/lib/\S+/libdtrain\.so\.0", content["libdtrain0"])
    assert "./usr/include/dtrain/communicator.hpp" in content["libdtrain-dev"]
    assert re.search(r"\./usr/lib/\S+/libdtrain\.so ", content["libdtrain-dev"])


def test_debian_version_is_older_than_the_release(made_packages):
    version = run("dpkg-deb", "-f", next(made_packages.glob("dtrain_*.deb")), "Version").stdout.strip()
    assert version == project_version().replace("-", "~") + "-0dtrain1"
    if version.startswith(project_version().split("-")[0] + "~"):
        assert run("dpkg", "--compare-versions", version, "lt", project_version().split("-")[0] + "-0dtrain1").returncode == 0


def test_lintian_finds_nothing(made_packages):
    if shutil.which("lintian") is None:
        pytest.skip("lintian is not installed")
    # Bytes of machine code read as words, others after each change.
    judged = run("lintian", "--allow-root", "--fail-on", "error,warning,info", "--display-info", "--suppress-tags",
                 "spelling-error-in-binary", next(made_packages.glob("*.changes")), timeout=1200)
    assert (judged.returncode, judged.stdout) == (0, ""), judged.stderr


BARE = """set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t sysfs sys "$1/sys"
exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh -ec "$2"
"""


@pytest.fixture(scope="module")
def bare_debian(tmp_path_factory):
    """bare_debian(script) runs it as root on a Debian 12 that has apt and nothing else; bare_debian.root is its folder."""
    stress()
    if shutil.which("mmdebstrap") is None:
        pytest.skip("mmdebstrap is not installed")
    if os.geteuid() != 0 or run("unshare", "--mount", "--pid", "--fork", "true").returncode != 0:
        pytest.skip("needs root that may mount")
    root = tmp_path_factory.mktemp("bare") / "root"
    sources = [path for path in (Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*"))
               if path.suffix in (".list", ".sources") and path.exists() and "debian" in path.read_text()]
    proxies = [line for line in run("apt-config", "dump").stdout.splitlines() if re.match(r"Acquire::https?::(\S+::)?Proxy", line)]
    made = run("mmdebstrap", "--quiet", "--variant=apt", "--include=ca-certificates", *(f"--aptopt={line}" for line in proxies),
               "bookworm", root, *sources, timeout=900)
    if made.returncode != 0:
        pytest.skip(f"no bare Debian 12 can be made here: {made.stderr.splitlines()[-1:]}")
    for name in ("resolv.conf", "hosts"):
        shutil.copy(f"/etc/{name}", root / "etc" / name)

    def inside(script, timeout=900):
        # The mounts are the command's own, and end with it.
        return run("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", BARE, "sh", root, script, timeout=timeout, cwd="/")
    inside.root = root
    yield inside
    shutil.rmtree(root, ignore_errors=True)


def test_a_job_runs_on_a_bare_debian(made_packages, bare_debian):
    assert bare_debian("command -v c++ gcc mpirun || true").stdout == ""
    home_of_root = bare_debian.root / "root"
    for deb in [*made_packages.glob("dtrain_*.deb"), *made_packages.glob("libdtrain0_*.deb")]:
        shutil.copy(deb, home_of_root)
    installed = bare_debian("apt-get update -qq; apt-get install -y -qq --no-install-recommends /root/*.deb")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    assert bare_debian("command -v c++ gcc || true").stdout == ""

    (home_of_root / "hello.sh").write_text('#!/bin/sh\necho "rank $PADDLE_TRAINER_ID of $PADDLE_TRAINERS_NUM"\n')
    (home_of_root / "hello.sh").chmod(0o755)
    launched = bare_debian("cd /root; dtrain-launch --nproc_per_node 2 hello.sh; cat log/workerlog.1")
    assert launched.returncode == 0, launched.stdout + launched.stderr
    assert "rank 0 of 2" in launched.stdout and "rank 1 of 2" in launched.stdout

    trained = bare_debian("cd /root; export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; "
                          "mpirun --oversubscribe -np 2 dtrain-worker")
    assert trained.returncode == 0, trained.stdout + trained.stderr
    assert re.search(r"accuracy\D+0\.9\d", trained.stdout), trained.stdout
    assert f"dtrain {project_version()}" in bare_debian("dtrain-worker --version").stdout

    gone = bare_debian("apt-get purge -y -qq dtrain libdtrain0 >/dev/null; find / -xdev -name '*dtrain*' -not -path '/root/*' -not -path '/proc/*'")
    assert (gone.returncode, gone.stdout) == (0, "")


def test_the_programs_run_where_the_containers_run_them(made_packages, bare_debian):
    """The last stage of both containers: their packages, and a tree of dtrain in /opt."""
    for deb in made_packages.glob("*dtrain*_*.deb"):
        assert run("dpkg-deb", "-x", deb, bare_debian.root / "opt/unpacked").returncode == 0
    (bare_debian.root / "opt/unpacked/usr").rename(bare_debian.root / "opt/dtrain")
    installed = bare_debian("apt-get autoremove --purge -y -qq; apt-get update -qq; apt-get install -y -qq --no-install-recommends "
                            + " ".join(container_packages("Dockerfile")))
    assert installed.returncode == 0, installed.stdout + installed.stderr
    test = re.search(r"^%test\n(.*)", (PACKAGES / "dtrain.def").read_text(), re.M | re.S).group(1)
    trained = bare_debian("export PATH=/opt/dtrain/bin:$PATH\n" + test)
    assert trained.returncode == 0, trained.stdout + trained.stderr
    assert re.search(r"accuracy\D+0\.9\d", trained.stdout), trained.stdout
