# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""[train] last_batch = "uneven": trainers with parameter servers that make different numbers of steps.

Oracles: shows and clicks of each id, counted here in the log itself; the loss on the same log as test data, where
nothing is learned; another run, and an undisturbed one, byte by byte.
"""
import json

import pytest

from conftest import mpirun
from test_clicks import clicks  # noqa: F401: a fixture
from test_server_rows import counts, shown, table  # noqa: F401: a fixture
from test_servers import checksum, saved, write_digits, write_job

# 20,000 samples are 60 steps of 3 x 110, and 200: the last step has batches of 110, 90 and none.
UNEVEN = 'batch = 110\nlast_batch = "uneven"'
TRAINERS = 3


def uneven_job(cwd, clicks, name, servers, more=UNEVEN, **settings):
    path = write_job(cwd, clicks, name, servers=servers, **settings)
    path.write_text(path.read_text().replace("global_batch = 128", more))
    return path


@pytest.mark.parametrize("mode", ["sync", "async", "half_async", 'half_async"\nstaleness = 3 #', 'async"\nmost_merged = 4 #'])
def test_every_sample_is_trained_once_in_each_epoch(native, tmp_path, clicks, shown, mode):
    job = uneven_job(tmp_path, clicks, "job", f'count = 2\nrows = {{ statistics = true }}\nmode = "{mode}"', epochs=3,
                     checkpoint="every = 3")
    result = mpirun(2 + TRAINERS, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    assert "global batch 330 (110 per rank), 61 steps an epoch" in result.stdout
    found, _ = table(tmp_path / "job" / "epoch-000003")
    assert found == {each: (3 * shows, 3 * clicked, 2) for each, (shows, clicked) in shown.items()}
    assert counts(result)["dropped"] == 0


@pytest.mark.parametrize("mode", ["sync", "async", "half_async", "geo"])
def test_the_loss_is_that_of_every_sample_once(native, tmp_path, clicks, mode):
    """With a rate that changes nothing: one sample too many or too few is 1/20,000 of the loss."""
    job = uneven_job(tmp_path, clicks, "job", f'count = 1\nmode = "{mode}"',
                     more=f'{UNEVEN}\noptimizer = "sgd"\nlearning_rate = 1e-30')
    job.write_text(job.read_text().replace("/test.tsv", "/train.tsv"))
    result = mpirun(1 + TRAINERS, [native, job, "--metrics", "m.jsonl"], tmp_path)
    assert result.returncode == 0, result.stderr
    epochs = [line for line in map(json.loads, (tmp_path / "m.jsonl").read_text().splitlines()) if line["event"] == "epoch"]
    assert len(epochs) == 2
    for line in epochs:
        assert line["train_loss"] == pytest.approx(line["test_loss"], rel=2e-6)


def test_sync_has_the_same_bits_each_time_and_from_each_checkpoint(native, tmp_path, clicks):
    results = {}
    for name, servers in (("once", 2), ("again", 2), ("on3", 3)):
        job = uneven_job(tmp_path, clicks, name, f"count = {servers}", checkpoint="every_steps = 60\nkeep = 100")
        results[name] = mpirun(servers + TRAINERS, [native, job], tmp_path)
        assert results[name].returncode == 0, results[name].stderr
    assert len({checksum(result) for result in results.values()}) == 1
    expected = saved(tmp_path / "once" / "epoch-000002")
    assert saved(tmp_path / "again" / "epoch-000002") == expected
    for moment in ("epoch-000000-step-000060", "epoch-000001-step-000059"):
        job = uneven_job(tmp_path, clicks, f"from-{moment}", "count = 2", checkpoint="every = 2")
        resumed = mpirun(2 + TRAINERS, [native, job, "--resume", tmp_path / "once" / moment], tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert saved(tmp_path / f"from-{moment}" / "epoch-000002") == expected


def test_samples_on_disk_are_the_samples_in_memory(native, tmp_path):
    """1408 digits are 9 steps of 3 x 50, and 58: the last step has batches of 50, 8 and none."""
    found = set()
    for name, more in (("memory", ""), ("disk", 'memory = "80 kB"\n')):
        job = write_digits(tmp_path, "count = 1")
        text = job.read_text().replace("[data]\n", f"[data]\n{more}")
        job.write_text(text.replace("[train]\n", '[train]\nlast_batch = "uneven"\n').replace("global_batch = 64", "batch = 50"))
        result = mpirun(1 + TRAINERS, [native, job], tmp_path)
        assert result.returncode == 0, result.stderr
        assert "global batch 150 (50 per rank), 10 steps an epoch" in result.stdout
        found.add(checksum(result))
    assert len(found) == 1


@pytest.mark.parametrize("servers, batch, message", [
    (None, "batch = 110", '[train] last_batch = "uneven" lets trainers make different numbers of steps, and without parameter '
     'servers the ranks of a job add their gradients in each: use "repeat", "random" or "drop"'),
    ("count = 1", "global_batch = 128", '[train] global_batch 128 is no multiple of the 3 trainers, and with last_batch = "uneven" '
     "nothing fills up what is missing: use 'batch', of each trainer")])
def test_jobs_that_cannot_be_uneven_are_refused(native, tmp_path, clicks, servers, batch, message):
    job = uneven_job(tmp_path, clicks, "job", servers, more=f'{batch}\nlast_batch = "uneven"')
    refused = mpirun(4, [native, job], tmp_path)
    assert refused.returncode == 2 and refused.stdout == ""
    assert refused.stderr.splitlines()[0].startswith(f"dtrain-native: {message}"), refused.stderr
