# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""File systems that are slow, read-only, cannot list a folder, or lose the replies to renames (as NFS may: the client asks
again and is told that the old name is not there). Calls of the C library are replaced, see tests/support/faulty_calls.cpp; a
read-only one is a mount of the test's own.

Oracle: the same job without the fault: its status, its output, its files; and no temporary file is left. Where nothing can
be written, or checkpoints cannot be looked for: one line that names the file and the kernel's word, status 2, before a rank
is started."""
import json

import pytest

from conftest import BUILD, LAUNCH, ROOT, WORKER, own_mounts
from whole_jobs import NATIVE_JOB

STEPS = "for i in range(50): print('step', i, flush=True)\n"


@pytest.fixture(params=["no fault", "renames whose replies are lost", "20 ms for each open, write, sync and rename"])
def faulty(request, job):
    """Environment of commands whose files below job.folder are on such a file system."""
    preload = {"LD_PRELOAD": BUILD / "tests/support/libfaulty_calls.so"}
    return {"no fault": {}, "renames whose replies are lost": preload | {"FAULTY_RENAMES": job.folder}}.get(
        request.param, preload | {"FAULTY_SLOW": f"20:{job.folder}"})


def temporary_files(folder):
    return [path.name for path in folder.rglob("*") if ".tmp" in path.name]


def test_a_job_of_a_launcher(job, faulty):
    job.script("train.py", STEPS)
    done = job.launch("--no-banner", "--nproc_per_node", 2, "--report", "report.json", "train.py", env=faulty)
    assert done.returncode == 0, done.stderr
    lines = "".join(f"step {i}\n" for i in range(50))
    assert job.log(0) == job.log(1) == lines and done.stdout.endswith(lines)
    assert json.loads((job.folder / "report.json").read_text())["status"] == 0
    assert temporary_files(job.folder) == []


@pytest.mark.parametrize("form", ["directory", "file"])
def test_checkpoints_that_are_gone_on_from(job, faulty, form):
    """The last checkpoint is read as it was written, and the one before has made room for it."""
    for epochs in (2, 3):
        text = NATIVE_JOB.format(name="saved", epochs=epochs, optimizer="adam", digits=ROOT / "examples/digits.h5", hidden=8, every=1)
        (job.folder / "job.toml").write_text(text + f'format = "{form}"\n')
        done = job.run(WORKER, "job.toml", "--resume", "auto", env=faulty)
        assert done.returncode == 0, done.stderr
    assert "resumed   saved/epoch-000002" in done.stdout and "checkpoint    saved/epoch-000003" in done.stdout, done.stdout
    assert temporary_files(job.folder) == []
    listing = job.run(WORKER, "--inspect", "saved").stdout
    assert listing.count("intact") == 3, listing


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_job_does_not_begin_anew_where_its_checkpoints_cannot_be_listed(job, ranks):
    text = NATIVE_JOB.format(name="saved", epochs=1, optimizer="adam", digits=ROOT / "examples/digits.h5", hidden=8, every=1)
    (job.folder / "job.toml").write_text(text)
    start = ["mpirun", "-np", ranks] if ranks > 1 else []
    assert job.run(WORKER, "job.toml").returncode == 0
    (job.folder / "saved/latest").unlink()
    before = sorted(path.name for path in (job.folder / "saved").rglob("*"))
    fault = {"LD_PRELOAD": BUILD / "tests/support/libfaulty_calls.so", "FAULTY_FOLDERS": job.folder / "saved"}
    done = job.run(*start, WORKER, "job.toml", "--resume", "auto", env=fault)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("cannot read saved: Input/output error") == 1, done.stderr
    assert sorted(path.name for path in (job.folder / "saved").rglob("*")) == before


def test_a_read_only_folder_is_named_before_anything_starts(job):
    job.script("train.py", "open('started', 'w')\n")
    (job.folder / "log").mkdir()
    done = job.run(*own_mounts(), "sh", "-c", 'mount -t tmpfs -o ro none log && exec "$@"', "sh", LAUNCH, "--no-banner", "train.py")
    assert done.returncode == 2, done.stderr
    assert f"{job.folder}/log" in done.stderr and "Read-only file system" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (job.folder / "started").exists()
