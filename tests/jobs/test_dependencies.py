# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What the built programs and libraries need at run time, and what is said where it is missing.

Oracle: the lists below, which docs/packages.md promises; and this machine's own glibc, which keeps all versions in which
a function was ever there, so that it tells which functions are younger than glibc 2.28.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DTRAIN_BUILD", SOURCE / "build")).resolve()
LAUNCH = BUILD / "src/bin/dtrain-launch"
WORKER = BUILD / "src/bin/dtrain-worker"
LIBRARY = BUILD / "src/libdtrain.so"
NCCL_MODULE = BUILD / "src/comm/libdtrain_nccl.so"
GPU_MODULE = BUILD / "src/gpu/libdtrain_gpu.so"
TRACE_MPI_MODULE = BUILD / "src/trace_mpi/libdtrain_trace_mpi.so"
PROMETHEUS_MODULE = BUILD / "src/scrape/libdtrain_prometheus.so"

ALWAYS = r"lib(c|m|gcc_s|stdc\+\+)\.so\.\d+|ld-linux.*|lib(fmt|spdlog)\.so\.[\d.]+|lib(a|ub|t)san\.so\.\d+"
NEEDED = {
    LAUNCH: r"lib(hwloc|sodium|tomlplusplus)\.so\.\d+",
    WORKER: r"libhwloc\.so\.\d+",
    LIBRARY: r"lib(hwloc|mpi|mpich|hdf5\w*|xxhash|z|dnnl|gomp|rocksdb)\.so\.[\d.]+|libabsl_\w+\.so\.\d+",
    TRACE_MPI_MODULE: r"lib(mpi|mpich)\.so\.\d+",
}
# Headers of glibc, and of libstdc++ (std::condition_variable, std::shared_ptr), take these where glibc has them, else others.
BY_HEADERS = re.compile(r"f?l?stat(at)?(64)?|mknod(at)?|__isoc23_\w+|pthread_cond_clockwait|__libc_single_threaded")
OLDEST = (2, 28)

needs_binutils = pytest.mark.skipif(shutil.which("nm") is None or shutil.which("objdump") is None, reason="asks nm and objdump")


def output(*command, **environment):
    done = subprocess.run([str(word) for word in command], text=True, timeout=120, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    return done.stdout


def built():
    """Without the library for --trace-mpi: it has libstdc++ inside, which takes what the glibc has that it was built for."""
    folders = [BUILD / "src/bin", BUILD / "src/libexec/dtrain"]
    programs = [path for folder in folders for path in folder.glob("dtrain-*") if path.is_file() and path.suffix == ""]
    return [*programs, LIBRARY, *(path for path in (NCCL_MODULE, GPU_MODULE, PROMETHEUS_MODULE) if path.exists())]


@needs_binutils
@pytest.mark.parametrize("file", NEEDED, ids=lambda file: file.name)
def test_no_gpu_library_is_needed_where_there_is_no_gpu(file):
    needed = re.findall(r"NEEDED +(\S+)", output("objdump", "-p", file))
    assert [name for name in needed if not re.fullmatch(f"{ALWAYS}|{NEEDED[file]}", name)] == []
    assert any(name.startswith("libc.so") for name in needed)


def versions_of(symbols):
    """{name: versions} of lines such as `U stat@GLIBC_2.33` and `T pthread_create@@GLIBC_2.34`."""
    found = {}
    for name, version in re.findall(r" (\w+)@+GLIBC_([\d.]+)", symbols):
        found.setdefault(name, []).append(tuple(int(part) for part in version.split(".")))
    return found


def glibc():
    libraries = re.findall(r"lib(?:c|m|pthread|dl|rt)\.so\.\d+ => (\S+)", output("ldd", LIBRARY))
    assert len(libraries) > 1
    return versions_of("".join(output("nm", "-D", "--defined-only", library) for library in libraries))


@needs_binutils
def test_functions_of_glibc_are_those_of_2_28():
    provided = glibc()
    assert min(provided["gettid"]) == (2, 30) and min(provided["pthread_create"]) < OLDEST, "the oracle knows what it should"
    too_new = {}
    for file in built():
        for name in versions_of(output("nm", "-D", "--undefined-only", file)):
            if name in provided and min(provided[name]) > OLDEST and not BY_HEADERS.fullmatch(name):
                too_new.setdefault(file.name, []).append(name)
    assert len(built()) > 4
    assert too_new == {}


@pytest.fixture
def module_without_nccl(tmp_path):
    """The module for NCCL as it is on a machine without libnccl: it needs a library that is not there."""
    if not NCCL_MODULE.exists():
        pytest.skip("built without CUDA")
    content = NCCL_MODULE.read_bytes()
    assert content.count(b"\0libnccl.so.2\0") == 1
    module = tmp_path / "libdtrain_nccl.so"
    module.write_bytes(content.replace(b"\0libnccl.so.2\0", b"\0libnone.so.2\0"))
    return module


def test_a_machine_without_nccl_is_told_so(job, module_without_nccl):
    info = job.run(WORKER, "--info", env={"DTRAIN_NCCL_MODULE": module_without_nccl})
    assert (info.returncode, info.stderr) == (0, "")
    assert re.search(r"^NCCL +NCCL cannot be used on \S+: libnone\.so\.2: cannot open shared object file: No such file or directory; "
                     r"install NCCL \(libnccl\.so\.2\) and CUDA's runtime there, or put their folders into LD_LIBRARY_PATH$",
                     info.stdout, re.MULTILINE)
    assert re.search(r"^ +NCCL +not here$", info.stdout, re.MULTILINE)


@pytest.mark.parametrize(("file", "reason"), [
    ("/nowhere.so", "/nowhere.so: cannot open shared object file: No such file or directory; dtrain was built without CUDA, "
                    "or its module was not installed: install the CUDA Toolkit and NCCL and build with -Dcuda=enabled"),
    ("libc.so.6", "libc.so.6 is no NCCL module of dtrain; DTRAIN_NCCL_MODULE names another file, or nothing"),
])
def test_what_is_no_module_is_refused(job, file, reason):
    info = job.run(WORKER, "--info", env={"DTRAIN_NCCL_MODULE": file})
    assert (info.returncode, info.stderr) == (0, "")
    assert re.search(rf"^NCCL +NCCL cannot be used on \S+: {re.escape(reason)}$", info.stdout, re.MULTILINE)


def test_the_library_alone_is_built_without_what_programs_need(tmp_path):
    """Configured where neither pkg-config nor CMake finds these, which must be missing for the programs."""
    of_programs = ("CLI11.pc", "libsodium.pc", "tomlplusplus.pc")
    found = tmp_path / "pkgconfig"
    found.mkdir()
    for folder in reversed(output("pkg-config", "--variable", "pc_path", "pkg-config").strip().split(":")):
        for file in Path(folder).glob("*.pc"):
            link = found / file.name
            if file.name not in of_programs and not link.exists():
                link.symlink_to(file)
    (tmp_path / "machine.ini").write_text("[binaries]\ncmake = 'false'\n")

    def configured(programs):
        return subprocess.run(["meson", "setup", "--native-file", tmp_path / "machine.ini", f"-Dprograms={programs}", "-Dtests=disabled",
                               "-Dcuda=disabled", "--wrap-mode=nofallback", tmp_path / programs, SOURCE], text=True, timeout=300,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              env={**os.environ, "PKG_CONFIG_LIBDIR": str(found)})

    without = configured("disabled")
    assert without.returncode == 0, without.stdout
    assert "dtrain-launch" not in (tmp_path / "disabled/build.ninja").read_text()
    with_programs = configured("enabled")
    assert with_programs.returncode != 0
    assert re.search(r"Dependency ['\"]CLI11['\"] (is required but )?not found", with_programs.stdout), with_programs.stdout
