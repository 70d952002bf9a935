# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Which rows the tables of parameter servers have: [servers.rows] and reject_not_finite of job files.

Oracles: ids, shows and clicks counted here in the log itself, shrunk here with the numbers of the job file; an
undisturbed job, byte by byte.
"""
import collections
import json
import re
import struct

import pytest

from conftest import mpirun
from test_clicks import clicks, contents, read_log  # noqa: F401: a fixture
from test_servers import checksum, saved, write_job

# 20,000 samples are 200 batches of 100: none is filled up with samples that come again.
EVEN = 'global_batch = 100'
FLOATS = 8 * 3  # weights, and two states of Adam


def even_job(cwd, clicks, name, servers, epochs=1, **more):
    path = write_job(cwd, clicks, name, epochs=epochs, servers=servers, **more)
    path.write_text(path.read_text().replace("global_batch = 128", EVEN))
    return path


def table(folder):
    """Of each id its shows, clicks and last day, in a checkpoint of tables with statistics; and the tables' day."""
    found = {}
    for name, content in contents(folder).items():
        if not name.endswith(".rows"):
            continue
        first = content.split(b"\n", 1)[0]
        begin = int(first.split()[4])
        header = json.loads(content[len(first):begin].rstrip(b"\0"))
        size = header["row_bytes"]
        assert size == 8 + 4 * FLOATS + 12
        for i in range(header["rows"]):
            row = content[begin + i * size:begin + (i + 1) * size]
            found[struct.unpack("<Q", row[:8])[0]] = struct.unpack("<ffI", row[-12:])
    return found, header["day"]


def counts(result):
    line = re.search(r"^servers {7}([\d,]+) rows, inserted ([\d,]+), evicted ([\d,]+); gradients dropped ([\d,]+), "
                     r"rejected ([\d,]+) of rows and ([\d,]+) of dense parameters$", result.stdout, re.MULTILINE)
    return dict(zip(("rows", "inserted", "evicted", "dropped", "rejected", "dense"),
                    (int(count.replace(",", "")) for count in line.groups())))


@pytest.fixture(scope="module")
def shown(clicks):
    """Of each id of the training log how often it was shown and clicked on."""
    statistics = collections.defaultdict(lambda: [0, 0])
    labels, _, ids = read_log(clicks / "train.tsv")
    for label, sample in zip(labels, ids):
        for each in sample:
            statistics[each][0] += 1
            statistics[each][1] += label
    return statistics


@pytest.mark.parametrize("mode", ["sync", "async", "half_async"])
def test_shows_and_clicks_are_those_of_the_log(native, tmp_path, clicks, shown, mode):
    job = even_job(tmp_path, clicks, mode, f'count = 2\nmode = "{mode}"\nrows = {{ statistics = true }}', epochs=2,
                   checkpoint="every = 1")
    result = mpirun(4, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    for epoch in (1, 2):
        found, day = table(tmp_path / mode / f"epoch-00000{epoch}")
        assert found == {each: (epoch * shows, epoch * clicked, epoch - 1) for each, (shows, clicked) in shown.items()}
        assert day == epoch
    assert counts(result) == {"rows": len(shown), "inserted": len(shown), "evicted": 0, "dropped": 0, "rejected": 0,
                              "dense": 0}


def test_rows_go_by_their_score(native, tmp_path, clicks, shown):
    """Shrunk here as the header row_rules.hpp says; a row that went is inserted again when it comes again. All have been
    seen in the epoch that ends, which are no epochs unseen."""
    rows = ("statistics = true\nshow_coefficient = 0.25\nclick_coefficient = 2\ndecay = 0.5\nleast_score = 0.75\n"
            "most_unseen_epochs = 0\nshrink_every = 2")
    job = even_job(tmp_path, clicks, "job", f"count = 2\n[servers.rows]\n{rows}", epochs=4,
                   checkpoint="every = 1\nkeep = 100")
    result = mpirun(4, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    expected, evicted, inserted = {}, 0, 0
    for epoch in range(1, 5):
        for each, (shows, clicked) in shown.items():
            inserted += each not in expected
            before = expected.get(each, (0, 0, 0))
            expected[each] = (before[0] + shows, before[1] + clicked, epoch - 1)
        if epoch % 2 == 0:
            halved = {each: (shows / 2, clicked / 2, day) for each, (shows, clicked, day) in expected.items()}
            expected = {each: row for each, row in halved.items() if (row[0] - row[1]) * 0.25 + row[1] * 2 >= 0.75}
            evicted += len(halved) - len(expected)
        found, day = table(tmp_path / "job" / f"epoch-00000{epoch}")
        assert found == expected, epoch
        assert day == epoch
    assert 0 < len(expected) < len(shown)
    assert counts(result) == {"rows": len(expected), "inserted": inserted, "evicted": evicted, "dropped": 0, "rejected": 0,
                              "dense": 0}


def test_a_resumed_job_with_all_rules_is_the_undisturbed_one(native, tmp_path, clicks):
    settings = {"servers": "count = 2\n[servers.rows]\nadmit_probability = 0.5\nstatistics = true\nleast_score = 0.3\n"
                           "shrink_every = 1", "epochs": 3}
    whole = mpirun(4, [native, even_job(tmp_path, clicks, "whole", checkpoint="every_steps = 70\nkeep = 100",
                                        **settings)], tmp_path)
    assert whole.returncode == 0, whole.stderr
    for moment in ("epoch-000000-step-000070", "epoch-000001-step-000080"):
        job = even_job(tmp_path, clicks, "rest", checkpoint="every = 3", **settings)
        rest = mpirun(4, [native, job, "--resume", tmp_path / "whole" / moment], tmp_path)
        assert rest.returncode == 0, rest.stderr
        assert checksum(rest) == checksum(whole)
        assert counts(rest) == counts(whole)
        assert saved(tmp_path / "rest" / "epoch-000003") == saved(tmp_path / "whole" / "epoch-000003")


def test_a_fraction_of_the_ids_is_admitted(native, tmp_path, clicks, shown):
    """The same ids on any number of servers: 0.25 of them, within 4 standard deviations."""
    inserted = set()
    for servers in (1, 2):
        job = even_job(tmp_path, clicks, "job", f"count = {servers}\nrows = {{ admit_probability = 0.25 }}")
        result = mpirun(servers + 2, [native, job], tmp_path)
        assert result.returncode == 0, result.stderr
        found = counts(result)
        assert found["dropped"] > 0
        inserted.add((found["rows"], found["inserted"], found["dropped"], checksum(result)))
    assert len(inserted) == 1
    assert abs(next(iter(inserted))[0] - len(shown) / 4) < 4 * (len(shown) * 0.25 * 0.75) ** 0.5


def test_ids_that_come_once_get_no_row(native, tmp_path, clicks, shown):
    """A pull counts an id once; the samples of one that comes twice are in one batch of 200 at times."""
    job = even_job(tmp_path, clicks, "job", "count = 1\nrows = { admit_count = 2 }")
    result = mpirun(2, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    twice = sum(1 for shows, _ in shown.values() if shows > 1)
    assert 0.97 * twice < counts(result)["rows"] <= twice


DIGITS = """
[model]
hidden = [8]
[data]
train = {{ file = "digits.csv", label = "y" }}
[train]
epochs = 2
global_batch = 20
[servers]
count = 2
mode = "{mode}"
{more}
"""


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_gradients_that_are_not_finite_are_rejected_and_counted(native, tmp_path, mode):
    """One sample of 100 is too large for float32: the loss of its batch, 10 of a trainer, is NaN in each epoch, and so
    are the gradients at both servers."""
    lines = [f"{i % 2}," + ",".join(str((i * k) % 7) for k in range(20)) for i in range(100)]
    lines[37] = "0" + ",3e38" * 20
    (tmp_path / "digits.csv").write_text("y," + ",".join("abcdefghijklmnopqrst") + "\n" + "\n".join(lines) + "\n")
    job = tmp_path / "job.toml"
    job.write_text(DIGITS.format(mode=mode, more="reject_not_finite = true"))
    result = mpirun(4, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("        10 of 100 samples are left out: the loss of their batches is no number\n") == 2
    assert counts(result)["dense"] == 4
    assert re.search(r"^     2      0\.\d{4}", result.stdout, re.MULTILINE)
    job.write_text(DIGITS.format(mode=mode, more=""))
    stopped = mpirun(4, [native, job], tmp_path)
    assert stopped.returncode != 0
    assert re.search(r"dtrain-native: the loss is -?nan in epoch 1; ", stopped.stderr)


def test_bad_rules_end_in_one_line(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, servers="count = 1\nrows = { admit_count = 1000 }")
    refused = mpirun(2, [native, job], tmp_path)
    assert refused.returncode == 2
    assert "[servers.rows] admit_count = 1000: it must be a whole number in 1..255" in refused.stderr.splitlines()[0]
