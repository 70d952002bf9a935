# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What people see of a native job: JSON lines, TensorBoard's files, a page.

Oracles: the table that the job prints; TFRecord's framing with a crc32c of the test's own and the documented fields of
an Event; the real TensorBoard, where it is installed; Python's html.parser.
"""
import html.parser
import importlib.util
import json
import os
import re
import signal
import struct
import subprocess
import time

import pytest

from conftest import BUILD, LAUNCH, ROOT, WORKER, build_option, clean_environment, mpirun, mpirun_of, run
from test_clicks import clicks  # noqa: F401: a fixture
from test_servers import write_job
from whole_jobs import NATIVE_JOB


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.toml"
    path.write_text(NATIVE_JOB.format(hidden=16, digits=ROOT / "examples" / "digits.h5", epochs=3, optimizer="adam",
                                      name="kept", every=3))
    return path


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def table_of(text):
    """Rows of the printed table: epoch, train loss, train accuracy, test accuracy."""
    return [row.split()[:4] for row in re.findall(r"^ +\d+ +\d+\.\d{4} .*$", text, re.MULTILINE)]


class Page(html.parser.HTMLParser):
    """What a page asks others for, its headings, texts by section, and its data."""

    def __init__(self, text):
        super().__init__()
        self.asks, self.sections, self.open, self.data, self.headings = [], {}, [], "", []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"
        self.run = json.loads(self.data)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.asks += [value for name, value in attributes.items() if name in ("src", "href", "srcset", "action", "data")]
        if tag in ("link", "img", "iframe", "object", "base"):
            self.asks.append(tag)
        if tag not in ("meta", "line", "path", "circle", "input"):
            self.open.append((tag, attributes.get("id", "")))

    def handle_startendtag(self, tag, attributes):
        self.asks += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> in {self.open}"
        self.open.pop()

    def handle_data(self, text):
        tags = [tag for tag, _ in self.open]
        if ("script", "run") in self.open or ("script", "runs") in self.open:
            self.data += text
        elif tags[-1:] in (["h1"], ["h2"]):
            self.headings.append(text)
        for tag, name in self.open:
            if tag == "section":
                self.sections[name] = self.sections.get(name, "") + text + " "


def page_of(path):
    text = path.read_text()
    assert not re.search(r"https?://", text)
    page = Page(text)
    assert page.asks == []
    return page


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(data):
    """Field number and value of a message of protocol buffers."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    found = []
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value, at = struct.unpack("<d", data[at:at + 8])[0], at + 8
        elif key & 7 == 5:
            value, at = struct.unpack("<f", data[at:at + 4])[0], at + 4
        else:
            assert key & 7 == 2
            length = varint()
            value, at = data[at:at + length], at + length
        found.append((key >> 3, value))
    return found


def scalars_of(path):
    """Values by tag and step, of a file of events."""
    data, at, scalars, versions = path.read_bytes(), 0, {}, []
    while at < len(data):
        length, = struct.unpack("<Q", data[at:at + 8])
        assert struct.unpack("<I", data[at + 8:at + 12])[0] == masked(data[at:at + 8])
        record = data[at + 12:at + 12 + length]
        assert struct.unpack("<I", data[at + 12 + length:at + 16 + length])[0] == masked(record)
        at += length + 16
        event = dict(fields(record))
        assert event[1] > 1.6e9
        if 3 in event:
            versions.append(event[3])
            continue
        for number, value in fields(event[5]):
            assert number == 1
            value = dict(fields(value))
            scalars[value[1].decode(), event[2]] = value[2]
    assert versions == [b"brain.Event:2"]
    return scalars


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


@pytest.fixture
def trained(native, tmp_path, job):
    began = time.monotonic()
    done = mpirun(2, [native, job, "--metrics", "m.jsonl", "--tensorboard", "tb", "--report", "run.html"], tmp_path)
    done.took = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    return done


def test_lines_tell_what_the_table_tells(tmp_path, trained):
    lines = lines_of(tmp_path / "m.jsonl")
    assert [line["event"] for line in lines if line["event"] != "step"] == ["begin", "epoch", "epoch", "epoch", "end"]
    assert lines[0]["event"] == "begin" and lines[-1] | {"event": "end", "outcome": "done"} == lines[-1]
    rows = [[f"{line['epoch']}", f"{line['train_loss']:.4f}", f"{line['train_accuracy']:.4f}", f"{line['test_accuracy']:.4f}"]
            for line in lines if line["event"] == "epoch"]
    assert rows == table_of(trained.stdout) and len(rows) == 3
    assert [line["step"] for line in lines if line["event"] == "epoch"] == [22, 44, 66]
    # 22 steps make 20 rows and more: every step; the epoch's last one is the epoch's.
    assert [line["step"] for line in lines if line["event"] == "step"] == [n for n in range(1, 67) if n % 22]
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds) and all(line["samples_per_second"] > 0 for line in lines[1:-1])


def test_rows_within_epochs_come_after_so_many_steps(native, tmp_path, job):
    job.write_text(job.read_text() + '[log]\nmetrics = "own.jsonl"\nevery_steps = 8\n')
    assert run([native, job], tmp_path).returncode == 0
    lines = lines_of(tmp_path / "own.jsonl")
    assert [line["step"] for line in lines if line["event"] == "step"] == [8, 16, 30, 38, 52, 60]


def test_a_job_that_goes_on_adds_to_the_lines(native, tmp_path, job):
    options = ["--metrics", "m.jsonl"]
    assert run([native, job, *options], tmp_path).returncode == 0
    assert run([native, job, *options, "--resume", "--epochs", "4"], tmp_path).returncode == 0
    assert [line["step"] for line in lines_of(tmp_path / "m.jsonl") if line["event"] == "epoch"] == [22, 44, 66, 88]


def test_tensorboards_file_has_the_same_values(tmp_path, trained):
    file, = (tmp_path / "tb").iterdir()
    assert re.fullmatch(r"events\.out\.tfevents\.\d{10}\..+\.\d+\.0", file.name)
    expected = {}
    for line in lines_of(tmp_path / "m.jsonl"):
        for name, value in line.items():
            tag = re.sub("^(train|test)_", r"\1/", name)
            if tag != name or name in ("loss", "samples_per_second"):
                expected[tag, line["step"]] = float32(value)
    assert scalars_of(file) == expected
    assert ("test/accuracy", 66) in expected and ("loss", 1) in expected


def test_the_real_tensorboard_reads_it(tmp_path, trained):
    python = os.environ.get("DTRAIN_TENSORBOARD_PYTHON")  # one that has it
    if python is None and importlib.util.find_spec("tensorboard") is None:
        pytest.skip("tensorboard is not installed; DTRAIN_TENSORBOARD_PYTHON names a Python that has it")
    read = """if True:
        import json
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        events = EventAccumulator("tb", size_guidance={"scalars": 0})
        events.Reload()
        print(json.dumps({tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}))"""
    done = run([python or "/usr/bin/python3", "-c", read], tmp_path)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    file, = (tmp_path / "tb").iterdir()
    assert {(tag, step): value for tag, values in seen.items() for step, value in values} == scalars_of(file)


def test_the_page_shows_what_the_lines_say(tmp_path, trained):
    page = page_of(tmp_path / "run.html")
    lines = lines_of(tmp_path / "m.jsonl")
    rows = [{"event": row["event"], "step": row["step"], "epoch": row["epoch"], "time": row["time"],
             "seconds": row["seconds"], **row["values"]} for row in page.run["rows"]]
    assert rows == lines[1:-1]
    assert page.run["outcome"] == "done" and page.headings[:2] == ["job", "Curves"]
    for name in ("curves", "phases", "placement", "events"):
        assert page.sections[name].strip(), name
    for chart in ("Loss", "Accuracy", "Throughput"):
        assert chart in page.sections["curves"]
    for name in ("train_loss", "train_accuracy", "test_accuracy"):
        assert f"{lines[-2][name]:.4g} " in page.sections["curves"]
    assert [location["rank"] for location in page.run["places"]] == [0, 1]
    assert [times["rank"] for times in page.run["times"]] == [0, 1]


def test_times_of_the_ranks_are_all_of_the_time(tmp_path, trained):
    run_ = page_of(tmp_path / "run.html").run
    sums = []
    for times in run_["times"]:
        parts = [times[name] for name in ("compute", "communicate", "wait", "input", "rest")]
        assert min(parts) >= 0 and times["compute"] > 0 and times["communicate"] > 0 and times["input"] > 0
        sums.append(sum(parts))
    assert sums[0] <= run_["seconds"] + 1e-3  # by rank 0's clock, as the whole is
    assert max(sums) <= trained.took
    # Steps end together: whoever ends the last one began before rank 0 had ended the first.
    at = {line["step"]: line["seconds"] for line in lines_of(tmp_path / "m.jsonl") if line["event"] == "step"}
    assert min(sums) >= at[65] - at[1] > 0


def test_nobody_asks_and_nothing_is_written(native, tmp_path, job):
    assert run([native, job], tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.toml", "kept"]


def test_the_same_bits_are_trained_whether_anybody_looks(native, tmp_path, job):
    def checksum(*options):
        done = mpirun(2, [native, job, *options], tmp_path)
        assert done.returncode == 0, done.stderr
        return re.search("checksum [0-9a-f]{16}", done.stdout).group()
    assert checksum() == checksum("--metrics", "m", "--report", "p.html", "--tensorboard", "t")


@pytest.mark.parametrize("option", ["--metrics", "--report", "--tensorboard"])
def test_what_cannot_be_written_is_said_before_anything_starts(native, tmp_path, job, option):
    (tmp_path / "file").write_text("")
    done = run([native, job, option, "file/x"], tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert re.fullmatch(rf"dtrain-native: {option} file/x cannot be written: Not a directory; choose another \w+\n", done.stderr)
    assert not (tmp_path / "kept").exists()


SLOW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
int dnnl_primitive_execute(const void* primitive, void* stream, int count, const void* arguments) {
    static int (*real)(const void*, void*, int, const void*);
    if (!real) real = (int (*)(const void*, void*, int, const void*))dlsym(RTLD_NEXT, "dnnl_primitive_execute");
    usleep(10000);
    return real(primitive, stream, count, arguments);
}
"""


@pytest.fixture
def slow_products(native, tmp_path):
    """A library that makes every product of matrices take 10 ms more, where it is preloaded."""
    if "libdnnl.so" not in run(["ldd", native], tmp_path).stdout:
        pytest.skip("oneDNN is not a shared library of this build")
    if (sanitizers := build_option("b_sanitize")) != "none":
        pytest.skip(f"the {sanitizers} sanitizer wants to be loaded first")
    (tmp_path / "slow.c").write_text(SLOW)
    built = run(["cc", "-shared", "-fPIC", "slow.c", "-o", "slow.so"], tmp_path)
    assert built.returncode == 0, built.stderr
    return tmp_path / "slow.so"


@pytest.mark.parametrize("options", [[], ["--report", "run.html", "--metrics", "m.jsonl"]])
def test_the_slowest_rank_of_each_epoch_is_named(native, tmp_path, job, slow_products, options):
    """Oracle: the rank that was made slow, for 1.5 s an epoch at least: 22 steps of 7 products."""
    command = [native, job, "--epochs", "2", *options]
    done = run(mpirun_of((1, *command), (1, "env", f"LD_PRELOAD={slow_products}", *command)), tmp_path)
    assert done.returncode == 0, done.stderr
    slowest = re.findall(r"^ +(\d) .*\n        rank 1 on \S+ was the slowest: others waited up to (\d\.\d\d) s for it$", done.stdout, re.M)
    assert [epoch for epoch, _ in slowest] == ["1", "2"], done.stdout
    if not options:
        return
    page = page_of(tmp_path / "run.html")
    assert [(slow["epoch"], slow["rank"], f"{slow['waited']:.2f}") for slow in page.run["slow_epochs"]] == \
        [(int(epoch), 1, waited) for epoch, waited in slowest]
    assert "In 2 epochs others waited for a rank: in 2 for rank 1 on " in page.sections["phases"]
    assert "Rank 1 on " in page.sections["phases"]


def test_a_failing_job_leaves_its_page(native, tmp_path, job):
    job.write_text(job.read_text().replace('optimizer = "adam"', 'optimizer = "sgd"\nlearning_rate = 1e29'))
    done = mpirun(2, [native, job, "--report", "run.html", "--metrics", "m.jsonl"], tmp_path)
    assert done.returncode == 1
    page = page_of(tmp_path / "run.html")
    assert page.run["outcome"] == "failed" and "the loss is" in page.sections["failure"]
    assert "the loss is" in page.headings[1]
    end = lines_of(tmp_path / "m.jsonl")[-1]
    assert end["event"] == "end" and end["outcome"] == "failed" and "the loss is" in end["failure"]


def test_texts_of_the_job_are_no_markup(native, tmp_path, job):
    job.write_text('title = "<script>alert(1)</script> & \'x\'"\n' + job.read_text())
    assert run([native, job, "--report", "run.html"], tmp_path).returncode == 0
    assert page_of(tmp_path / "run.html").headings[0] == "<script>alert(1)</script> & 'x'"


def test_jobs_with_servers_tell_of_their_trainers(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, epochs=2, servers=None)
    job.write_text(job.read_text() + "[servers]\ncount = 1\n")
    done = mpirun(3, [native, job, "--report", "run.html", "--metrics", "m.jsonl"], tmp_path)
    assert done.returncode == 0, done.stderr
    page = page_of(tmp_path / "run.html")
    assert "AUC" in page.sections["curves"] and len(page.run["places"]) == 2
    assert len([line for line in lines_of(tmp_path / "m.jsonl") if line["event"] == "epoch"]) == 2
    # MPI's ranks, as in what the job says of failures: rank 0 is the server.
    assert [location["rank"] for location in page.run["places"]] == [times["rank"] for times in page.run["times"]] == [1, 2]
    assert all(times["wait"] is None and times["communicate"] > 0 for times in page.run["times"])
    assert "wait [s]" not in page.sections["phases"] and "Communicate: also waiting" in page.sections["phases"]


def run_until_all_have_looked(ranks, native, job, tmp_path, environment, *options):
    """A job of two trainers that had time for a look at their GPUs: how many epochs that takes depends on the machine."""
    for epochs in (20, 400):
        job.write_text(re.sub("epochs = [0-9]+", f"epochs = {epochs}", job.read_text()))
        done = mpirun(ranks, [native, job, *options, "--report", "run.html"], tmp_path, **environment)
        assert done.returncode == 0, done.stderr
        page = page_of(tmp_path / "run.html")
        if len(page.run["gpus"]) == 2:
            break
    return page


def test_gpus_are_in_lines_charts_and_table(native, tmp_path, job, ill_gpus):
    """Oracle: what tests/topology/fake_nvml.cpp always says, of two of its three GPUs."""
    page = run_until_all_have_looked(2, native, job, tmp_path, ill_gpus, "--metrics", "m.jsonl")
    epochs = [line for line in lines_of(tmp_path / "m.jsonl") if line["event"] == "epoch" and "gpu_watts" in line]
    assert epochs and all(line["gpu_utilization"] == 97 for line in epochs)
    assert {line["gpu_watts"] for line in epochs} <= {1303, 2 * 1303}, "of the ranks that looked in that epoch"
    assert page.run["gpus"] == [{"rank": rank, "utilization": 97, "watts": 1303, "memory": 3 * 2**30, "celsius": 91}
                                for rank in (0, 1)]
    assert "GPU power" in page.sections["curves"] and "1303.0" in page.sections["gpus"]


def test_gpus_of_trainers_have_the_ranks_of_the_job(native, tmp_path, job, ill_gpus):
    """Oracle: the one server is rank 0."""
    job.write_text(job.read_text() + "[servers]\ncount = 1\n")
    gpus = run_until_all_have_looked(3, native, job, tmp_path, ill_gpus).run["gpus"]
    assert [(rank["rank"], rank["watts"]) for rank in gpus] == [(1, 1303), (2, 1303)]


def test_gpus_of_any_program_are_on_the_launchers_page(tmp_path, ill_gpus):
    done = run([LAUNCH, "--gpus", "0,1", "--report", "run.html", "sh", "-c", "sleep 2; exit $PADDLE_TRAINER_ID"], tmp_path,
               **ill_gpus)
    assert done.returncode == 1, done.stderr
    page = page_of(tmp_path / "run.html")
    assert [(gpus["rank"], gpus["watts"]) for gpus in page.run["gpus"]] == [(0, 1303), (1, 1303)]
    assert "1303.0" in page.sections["gpus"]
