# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""examples/ctr.toml with parameter servers, in every mode: what trainers learn together is what one process learns.

Oracle: the AUC of one process without servers, on the example's own log (200,000 displays to train on, 50,000 to test
on, two epochs). With DTRAIN_STRESS two, three and four trainers, five times each.
"""
import os
import re

import pytest

from conftest import LAUNCH, PYTHON, ROOT, mpirun, run
from test_clicks import GENERATOR

BOUND = 0.002
SERVERS = 2
MODES = {
    "sync": 'mode = "sync"',
    "async": 'mode = "async"',
    "async, merged": 'mode = "async"\nmost_merged = 2',
    "half_async": 'mode = "half_async"',
    "bounded staleness": 'mode = "half_async"\nstaleness = 4',
    "geo": 'mode = "geo"',
    "geo, often": 'mode = "geo"\npush_every = 10',
}
STRESS = bool(os.environ.get("DTRAIN_STRESS"))


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    folder = tmp_path_factory.mktemp("log") / "clicks"
    made = run([PYTHON, GENERATOR, folder], ROOT)
    assert made.returncode == 0, made.stderr
    return folder


def write_example(cwd, log, servers=None):
    text = (ROOT / "examples" / "ctr.toml").read_text().split("[checkpoint]")[0]
    assert text.count('"clicks/') == 2
    job = cwd / "ctr.toml"
    job.write_text(text.replace('"clicks/', f'"{log}/') + (f"[servers]\n{servers}\n" if servers else ""))
    return job


def auc_and_best(text):
    found = re.search(r"^test AUC (\d\.\d{4}) \(best possible (\d\.\d{4})\)$", text, re.MULTILINE)
    return float(found[1]), float(found[2])


@pytest.fixture(scope="module")
def alone(native, log, tmp_path_factory):
    cwd = tmp_path_factory.mktemp("alone")
    found = mpirun(1, [native, write_example(cwd, log)], cwd)
    assert found.returncode == 0, found.stderr
    return auc_and_best(found.stdout)


@pytest.mark.parametrize("trainers", (2, 3, 4) if STRESS else (2,))
@pytest.mark.parametrize("mode", MODES)
def test_the_auc_of_every_mode_is_that_of_one_process(alone, log, tmp_path, mode, trainers):
    job = write_example(tmp_path, log, MODES[mode])
    word = MODES[mode].split('"')[1]
    for attempt in range(5 if STRESS else 1):
        logs = tmp_path / f"log-{attempt}"
        found = run([LAUNCH, "--server_num", SERVERS, "--worker_num", trainers, "--log_dir", logs, job], tmp_path)
        assert found.returncode == 0, found.stderr
        output = (logs / "workerlog.0").read_text()
        assert f"{trainers} trainers with {SERVERS} parameter servers ({word})" in output
        auc, best = auc_and_best(output)
        assert best == alone[1]
        assert auc == pytest.approx(alone[0], abs=BOUND), f"attempt {attempt}"
