# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What all tests of whole jobs share: the programs of the build and an environment without anything of an outer job."""
import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DTRAIN_BUILD", ROOT / "build")).resolve()
LAUNCH = BUILD / "src/bin/dtrain-launch"
WORKER = BUILD / "src/bin/dtrain-worker"
OMPI5 = os.environ.get("DTRAIN_OMPI5") or None  # mpirun of an Open MPI 5.0, beside the one in PATH
# 1408 samples are 22 batches of 64, and 1, 2 and 4 divide 64: no padding.
NATIVE_JOB = """
[model]
hidden = [{hidden}]
[data]
train = {{ file = "{digits}", x = "train/x", y = "train/y" }}
test = {{ file = "{digits}", x = "test/x", y = "test/y" }}
scale = 0.0625
[train]
epochs = {epochs}
global_batch = 64
seed = 3
optimizer = "{optimizer}"
[checkpoint]
dir = "{name}"
every = {every}
keep = 10
"""
PYTHON = "/usr/bin/python3"  # the one that has mpi4py and h5py from packages


def epochs_trained(checkpoints):
    """What the newest checkpoint of a native job in this folder says; 0: there is none."""
    return max((int(path.name.split("-")[1].split(".")[0]) for path in checkpoints.glob("epoch-*")), default=0)


def is_native(pid):
    """Whether this process is a rank of a native job."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "dtrain-native"
    except OSError:
        return False


def natives(session):
    """Ranks of a native job by the time at which they began: in the order of their ranks."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(path.name)) == session and is_native(path.name):
                found.append(int(path.name))
        except OSError:
            pass
    return sorted(found)


def printed_by(child):
    """What a job said whose ranks are killed at any moment. mpirun of Open MPI 4.1 may itself hang, without any rank,
    when one is killed while it connects; it is ended then."""
    try:
        return child.communicate(timeout=40)[0]
    except subprocess.TimeoutExpired:
        assert not natives(child.pid)
        child.kill()
        return child.communicate(timeout=10)[0]


#: What the wheel says of itself: torch calls dtrain at the end of its import.
ENTRY_POINTS = "[torch.backends]\ndtrain = dtrain._torch_records:answer_worker\n"
#: Python reads .pth only in its own folders, and in those that it is told of.
SITE = "import os, site\nsite.addsitedir(os.path.dirname(__file__))\n"


def as_installed(folder):
    """A PYTHONPATH in which dtrain is as if it were installed."""
    info = folder / "dtrain-0.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "sitecustomize.py").write_text(SITE)
    shutil.copy(ROOT / "python/dtrain_paddle_hook.pth", folder)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dtrain\nVersion: 0\n")
    return os.pathsep.join([str(folder), str(ROOT / "python")])


def build_option(name):
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())
    return next(option["value"] for option in options if option["name"] == name)


def clean_environment(**extra):
    """The caller's environment without anything of an outer job, as a fresh login has it."""
    prefixes = ("PADDLE_", "DTRAIN_", "OMPI_", "PMIX_", "PMI_", "SLURM_", "FLAGS_", "CUDA_VISIBLE", "HWLOC_", "OMP_",
                "POD_IP", "TRAINER_PORTS", "DISTRIBUTED_TRAINER_ENDPOINTS")
    env = {k: v for k, v in os.environ.items() if not k.startswith(prefixes)}
    # mpirun refuses root and more ranks than cores unless told otherwise. Who waits leaves the processor to other tests.
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1", OMP_WAIT_POLICY="passive",
               DTRAIN_JOBS_DIR=str(BUILD / "job-records"))  # jobs of tests are none of the user's
    env.update({k: str(v) for k, v in extra.items()})
    return env


class NoSsh:
    """An ssh that only leaves a mark, and the variables that put it before the real one."""

    def __init__(self, folder):
        self.folder, self.mark = folder / "no-ssh", folder / "ssh-was-called"
        self.folder.mkdir()
        program = self.folder / "ssh"
        program.write_text(f"#!/bin/sh\necho \"$@\" >> {self.mark}\nexit 255\n")
        program.chmod(0o755)
        self.environment = {"PATH": f"{self.folder}:{os.environ['PATH']}"}


def processes_with(mark):
    """pids whose environment holds the mark."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def command_lines(pids):
    """Of those that are still there."""
    lines = {}
    for pid in pids:
        try:
            lines[pid] = pathlib.Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        except OSError:
            pass
    return lines
