# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of parameter servers that earlier versions wrote.

Oracle: tests/jobs/released has what a release wrote: a save of all rows by two servers, one of changes in the middle of
an epoch, the rows that were there then as text, and the job that it was. None of them may ever change; a release with
a new format brings a folder. The undisturbed job ended with the test loss and AUC below.
"""
import shutil

import pytest

from conftest import BUILD, ROOT, mpirun, run
from test_clicks import make_clicks, rows

WORKER = BUILD / "src" / "bin" / "dtrain-worker"
RELEASED = ROOT / "tests" / "jobs" / "released"


@pytest.mark.parametrize("version, saved, end", [("0.1", "epoch-000001-step-000001", (0.7060, 0.6538))])
@pytest.mark.parametrize("servers", [1, 2])
def test_servers_go_on_from_saves_of_every_release(native, tmp_path, version, saved, end, servers):
    shutil.copytree(RELEASED / f"{version}-servers", tmp_path, dirs_exist_ok=True)
    exported = run([WORKER, "--inspect", saved, "--export", "again.csv"], tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "rows.csv").read_text()
    make_clicks(tmp_path / "clicks", "--train", "96", "--test", "64")
    job = tmp_path / "job.toml"
    job.write_text(job.read_text().replace("count = 2", f"count = {servers}"))
    resumed = mpirun(servers + 1, [native, job, "--resume", saved], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert f"resumed   {saved}: 1 epochs" in resumed.stdout
    # Of 64 samples a pair in another order is 1e-3 of the area.
    assert rows(resumed)[-1][1] == pytest.approx(end[0], abs=2e-4)
    assert rows(resumed)[-1][2] == pytest.approx(end[1], abs=3e-3)
