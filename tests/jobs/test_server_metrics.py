# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What parameter servers write of themselves while a job runs.

Oracles: the counts that the job tells at its end and the numbers of its batches; Prometheus' description of its text
format, by a small parser; the kernel's account of a process' time.
"""
import collections
import json
import os
import re
import signal
import subprocess
import time
import urllib.request

import pytest

from conftest import BUILD, mpirun, mpirun_of
from test_clicks import clicks  # noqa: F401: a fixture
from test_server_rows import counts, even_job
from test_servers import write_job
from whole_jobs import natives

MODULE = BUILD / "src/scrape/libdtrain_prometheus.so"
needs_module = pytest.mark.skipif(not MODULE.exists(), reason="built without prometheus-cpp")


def parse(text):
    """Samples by name and labels, types by name; every sample stands below HELP and TYPE of its metric."""
    samples, types, family = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            assert family not in types and len(line.split(" ", 3)[3]) > 10
        elif line.startswith("# TYPE "):
            _, _, name, types[family] = line.split()
            assert name == family
        else:
            name, labels, value = re.fullmatch(r'([a-z_:][a-z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)', line).groups()
            of_histogram = (f"{family}_sum", f"{family}_count", f"{family}_bucket")
            assert name in of_histogram if types[family] == "histogram" else name == family
            key = (name, tuple(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', labels or "")))
            assert key not in samples
            samples[key] = float(value)
    assert text.endswith("\n")
    return samples, types


@needs_module
def test_each_server_tells_what_it_has(native, tmp_path, clicks):
    job = even_job(tmp_path, clicks, "job", 'count = 2\nmetrics = "told"\nmetrics_every = 0.5', epochs=2)
    result = mpirun(4, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    assert sorted(path.name for path in (tmp_path / "told").iterdir()) == [
        "server-0.jsonl", "server-0.prom", "server-1.jsonl", "server-1.prom"]
    sums = collections.Counter()
    for server in ("0", "1"):
        lines = [json.loads(line) for line in (tmp_path / "told" / f"server-{server}.jsonl").read_text().splitlines()]
        assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
        last = lines[-1]
        assert last["steps"] == 2 * 200
        table = last["tables"][0]
        sums.update(rows=table["rows"], inserted=table["inserted"])
        assert table["name"] == "embedding.weight"
        assert table["bytes"] > table["rows"] * (8 + 3 * 8 * 4)
        keys = sum(line["keys_pushed_per_second"] * line["seconds"] for line in lines)
        assert keys == pytest.approx(last["keys_pushed"])
        assert sum(line["push_seconds"]["count"] for line in lines) == 2 * 200
        busy = max(lines, key=lambda line: line["pull_seconds"]["count"])
        assert 0 < busy["pull_seconds"]["p50"] <= busy["pull_seconds"]["p99"] < 60, "not milliseconds"
        assert busy["keys_pulled_per_second"] > 0

        samples, types = parse((tmp_path / "told" / f"server-{server}.prom").read_text())
        own = ("server", server)
        of_table = (own, ("table", "embedding.weight"))
        assert samples["dtrain_server_steps_total", (own,)] == last["steps"]
        assert samples["dtrain_server_table_rows", of_table] == table["rows"]
        assert samples["dtrain_server_table_bytes", of_table] == table["bytes"]
        assert samples["dtrain_server_rows_inserted_total", of_table] == table["inserted"]
        assert samples["dtrain_server_keys_pushed_total", (own,)] == last["keys_pushed"]
        assert samples["dtrain_server_push_seconds_count", (own,)] == 2 * 200
        assert samples["dtrain_server_push_seconds_sum", (own,)] > 0
        buckets = [(float(dict(labels)["le"]), count) for (name, labels), count in samples.items()
                   if name == "dtrain_server_push_seconds_bucket" and own in labels]
        assert buckets == sorted(buckets) and [count for _, count in buckets] == sorted(count for _, count in buckets)
        assert buckets[-1] == (float("inf"), 2 * 200)
        median = next(bound for bound, count in buckets if count >= 200)
        halves = [line["push_seconds"]["p50"] for line in lines if line["push_seconds"]["count"] > 0]
        assert min(halves) / 2 < median < max(halves) * 4, "the buckets are powers of two"
        for name, kind in types.items():
            assert name.startswith("dtrain_server_")
            assert (kind == "counter") == name.endswith("_total")
    expected = counts(result)
    assert sums == {"rows": expected["rows"], "inserted": expected["inserted"]}


def mpirun_environment():
    return dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


@needs_module
def test_servers_are_scraped_while_the_job_runs(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, epochs=10_000, servers="count = 2\nmetrics_port = 0\nmetrics_every = 0.2")
    with open(tmp_path / "errors", "w") as errors:
        child = subprocess.Popen(["mpirun", "--oversubscribe", "-np", "3", native, job], cwd=tmp_path, env=mpirun_environment(),
                                 stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
    try:
        deadline = time.monotonic() + 100
        scraped = {}
        while len(scraped) < 2 and time.monotonic() < deadline and child.poll() is None:
            for server, url in re.findall(r"metrics of parameter server (\d) at (http://\S+)\n", (tmp_path / "errors").read_text()):
                text = urllib.request.urlopen(url, timeout=30).read().decode()
                samples = parse(text)[0] if text else {}
                if samples.get(("dtrain_server_steps_total", (("server", server),)), 0) > 0:
                    scraped[server] = samples
            time.sleep(0.1)
        assert sorted(scraped) == ["0", "1"], (tmp_path / "errors").read_text()
        for server, samples in scraped.items():
            own = ("server", server)
            assert samples["dtrain_server_push_seconds_count", (own,)] == samples["dtrain_server_steps_total", (own,)]
            assert samples["dtrain_server_table_rows", (own, ("table", "embedding.weight"))] > 0
        assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("server-")) == []
    finally:
        child.terminate()
        child.wait(timeout=60)


def test_without_prometheus_cpp_there_are_lines_of_json(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, servers='count = 1\nmetrics = "told"')
    done = mpirun(2, [native, job], tmp_path, DTRAIN_PROMETHEUS_MODULE="/nowhere.so")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "told").iterdir()] == ["server-0.jsonl"]
    assert re.fullmatch(r"dtrain: parameter server 0 writes no told/server-0\.prom: .*prometheus-cpp-dev.*\n", done.stderr)
    job = write_job(tmp_path, clicks, servers="count = 1\nmetrics_port = 0")
    refused = mpirun(2, [native, job], tmp_path, DTRAIN_PROMETHEUS_MODULE="/nowhere.so")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "prometheus-cpp-dev" in refused.stderr.splitlines()[0]


def test_a_server_that_waits_uses_little_of_a_core(native, tmp_path, clicks):
    """Less than 3% while its trainer stands still, also when it writes metrics five times a second."""
    job = write_job(tmp_path, clicks, epochs=10_000, servers='count = 1\nmetrics = "told"\nmetrics_every = 0.2')
    child = subprocess.Popen(mpirun_of((1, native, job), (1, native, job)), cwd=tmp_path, env=mpirun_environment(),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    server, trainer = None, None
    try:
        line = ""
        while not line.startswith("     1"):
            line = child.stdout.readline()
            assert line, child.communicate()
        server, trainer = natives(child.pid)
        os.kill(trainer, signal.SIGSTOP)
        time.sleep(1)

        def used():
            fields = (open(f"/proc/{server}/stat").read().rsplit(")", 1)[1]).split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        lines = tmp_path / "told" / "server-0.jsonl"
        written = lines.read_text().count("\n")
        before = used()
        time.sleep(5)
        assert used() - before < 0.03 * 5
        assert lines.read_text().count("\n") - written >= 10
        idle = json.loads(lines.read_text().splitlines()[-1])
        assert idle["keys_pulled_per_second"] == 0 and idle["push_seconds"]["count"] == 0
    finally:
        for process in (trainer, server):
            if process is not None:
                os.kill(process, signal.SIGKILL)
        child.communicate(timeout=40)


def test_a_folder_that_cannot_be_written_ends_the_job_before_it_begins(native, tmp_path, clicks):
    (tmp_path / "told").write_text("a file")
    job = write_job(tmp_path, clicks, servers='count = 1\nmetrics = "told"')
    refused = mpirun(2, [native, job], tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith("dtrain-native: cannot write metrics of servers into told: ")
    assert refused.stdout == ""
    job = write_job(tmp_path, clicks, servers="count = 1\nmetrics_every = 5")
    refused = mpirun(2, [native, job], tmp_path)
    assert refused.returncode == 2
    assert "'metrics_every' needs 'metrics', the folder to write into" in refused.stderr.splitlines()[0]
