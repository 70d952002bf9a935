# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The files of benchmarks/run --json and what is said of two of them. Oracle: figures made up here, whose noise is worked out by
hand from the rule in docs/development.md; texts of /proc and /etc/os-release copied from a machine."""

import copy
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import compare
import harness
import machine
import record

MACHINE = {"cpu": "AMD EPYC", "cores": 2, "memory_bytes": 24 << 30, "architecture": "x86_64", "os": "Debian", "kernel": "6.1", "load": 0.1,
           "versions": {"dtrain": "0.1.0"}}
COMMIT = {"commit": "0123", "dirty": False}


def row(value=10.0, least=None, most=None, n=5, better="lower", **other):
    return harness.Result("launch", "two ranks", "s", better, value, value if least is None else least, value if most is None else most, n,
                          **{"peer": "mpirun", "aim": 2.0, **other})


def with_peer(result, peer_value, foreign=True):
    return row(result.value, result.min, result.max, result.n, result.better, foreign=foreign, peer_value=peer_value, peer_min=peer_value,
               peer_max=peer_value, ratio=result.value / peer_value)


def document(*rows, **other):
    return {**record.document(MACHINE, COMMIT, "2026-11-24T22:00:00+00:00", ["all"], rows, True), **other}


def change(old, new):
    return compare.change_of(old.as_object(), new.as_object())


@pytest.mark.parametrize("better, old, new, worse_by", [("lower", 10, 12, 0.2), ("higher", 10, 12, -0.2), ("higher", 10, 8, 0.2),
                                                        ("lower", 10, 8, -0.2), ("lower", 10, 10, 0)])
def test_a_change_is_a_part_of_the_old_median(better, old, new, worse_by):
    assert change(row(old, better=better), row(new, better=better)).worse_by == pytest.approx(worse_by)


@pytest.mark.parametrize("old, new, noise", [
    (row(10), row(12), 0.05),  # measurements that do not differ: the floor
    (row(10, n=2), row(12), 0.25), (row(10), row(12, n=1), 0.25),
    (row(10, 9, 13), row(12), 0.3),  # the worst old one; that 9 is better does not count
    (row(10, 5, 10.1), row(12), 0.05),
    (row(10), row(12, 8, 12), 0.4),  # the best new one; the worst does not count
    (row(10), row(12, 11.9, 30), 0.05),
    (row(10, 7, 10, better="higher"), row(8, 8, 8, better="higher"), 0.3),
    (row(10, 10, 14, better="higher"), row(8, 7, 8.2, better="higher"), 0.05),
    (row(10, better="higher"), row(8, 8, 9.5, better="higher"), 0.15)])
def test_noise(old, new, noise):
    assert change(old, new).noise == pytest.approx(noise)


@pytest.mark.parametrize("value, is_worse", [(10.5, False), (10.6, True), (9, False)])
def test_only_what_is_beyond_the_noise_is_worse(value, is_worse):
    assert change(row(10), row(value)).is_worse == is_worse


@pytest.mark.parametrize("foreign, old_peer, new_peer, worse_by", [
    (True, 5, 10, -0.0),  # ours 10 to 20, the peer's 5 to 10: it was the machine
    (True, 5, 8, 0.25), (True, 5, 4, 1.0),
    (False, 5, 10, 1.0)])  # both ours: both have become slower
def test_what_slows_a_foreign_peer_too_is_not_our_doing(foreign, old_peer, new_peer, worse_by):
    found = change(with_peer(row(10), old_peer, foreign), with_peer(row(20), new_peer, foreign))
    assert found.worse_by == pytest.approx(worse_by)


def test_a_peer_that_was_measured_only_once_leaves_the_medians():
    assert change(with_peer(row(10), 5), row(20, foreign=True)).worse_by == pytest.approx(1)
    assert change(row(10, foreign=True), with_peer(row(20), 5)).worse_by == pytest.approx(1)


def test_there_are_no_parts_of_zero():
    assert change(row(0), row(1)) is None
    assert not compare.compared(document(row(0)), document(row(1))).is_worse
    assert compare.compared(document(row(0)), document(row(1))).lines[0].endswith(": no part of 0")


def test_the_line_of_a_case_that_is_worse():
    comparison = compare.compared(document(with_peer(row(0.2, 0.19, 0.21), 0.1)), document(with_peer(row(0.3, 0.29, 0.32, 7), 0.1)))
    assert comparison.is_worse
    assert comparison.lines == [
        "worse by more than noise: launch: two ranks: 0.3 s (median of 7, 0.29 to 0.32), was 0.2 s (median of 5, 0.19 to 0.21); "
        "ratio to mpirun 3.00, was 2.00: worse by 50%, noise 5%",
        "1 cases compared, 1 worse by more than noise; 0 only in the older file, 0 only in the newer", compare.RULE]


def test_the_rule_is_in_the_documentation():
    words = " ".join((BENCHMARKS.parent / "docs/development.md").read_text().split())
    for number in (f"{compare.FLOOR:.0%}".replace("%", " %"), f"{compare.FLOOR_OF_FEW:.0%}".replace("%", " %")):
        assert number in words


def lines(old, new):
    return compare.compared(document(*old), document(*new)).lines[:-2]


def test_what_is_no_worse_has_no_line():
    assert lines([row(10)], [row(10.2)]) == lines([row(10)], [row(5)]) == []


def test_a_case_that_a_program_of_ours_no_longer_makes_is_worse():
    new = harness.Result("launch", "two ranks", "s", "lower", peer="mpirun", not_measured="exit status 1", error=True)
    for failed in (new, harness.Result("launch", "", not_measured="exit status 1", error=True)):
        comparison = compare.compared(document(row(10)), document(failed))
        assert comparison.is_worse
        assert comparison.lines[0] == "worse: launch: two ranks: was 10 s (median of 5, 10 to 10), now not measured: exit status 1"


def test_a_case_that_this_machine_cannot_measure_is_told_and_no_worse():
    for missing in (harness.Result("launch", "two ranks", not_measured="no GPU"), harness.Result("launch", "", not_measured="no GPU")):
        comparison = compare.compared(document(row(10)), document(missing))
        assert not comparison.is_worse
        assert comparison.lines[0] == "not compared: launch: two ranks: was 10 s (median of 5, 10 to 10), now not measured: no GPU"


def test_cases_of_one_file_only_are_counted():
    assert compare.compared(document(row(10), row(1, peer="torchrun")), document(row(10), row(1, peer="limit"), row(2, peer="limit"))).lines[:-1] == [
        "1 cases compared, 0 worse by more than noise; 1 only in the older file, 2 only in the newer"]


def test_cases_with_the_same_words_are_compared_in_their_order():
    assert len(lines([row(10), row(100)], [row(10), row(100)])) == 0
    assert len(lines([row(10), row(100)], [row(10), row(200)])) == 1


def test_what_was_not_measured_before_cannot_get_worse():
    assert lines([harness.Result("launch", "two ranks", not_measured="no GPU")], [row(10)]) == []


def test_another_unit_is_not_compared():
    assert lines([row(10)], [row(10, better="higher")]) == [
        "not compared: launch: two ranks: was 10 s (median of 5, 10 to 10), now 10 s (median of 5, 10 to 10), higher is better"]


def test_another_machine_is_told_first():
    other = document(row(10), machine={**MACHINE, "cores": 64})
    assert compare.compared(document(row(10)), other).lines[0] == (
        "not the same machine, so that figures differ for other reasons, too: 2 cores of AMD EPYC, 24 GiB; now 64 cores of AMD EPYC, 24 GiB")
    same = document(row(10), machine={**MACHINE, "memory_bytes": MACHINE["memory_bytes"] - 4096, "load": 3})
    assert len(compare.compared(document(row(10)), same).lines) == 2


def test_a_file_is_read_as_it_was_written(tmp_path):
    content = document(with_peer(row(10, 9, 11), 5), harness.Result("nccl", "", not_measured="no GPU"))
    record.write(tmp_path / "new.json", content)
    assert record.read(tmp_path / "new.json") == content
    assert list(tmp_path.iterdir()) == [tmp_path / "new.json"]
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o666 & ~record.umask()
    assert content["cases"][0] == {
        "benchmark": "launch", "case": "two ranks", "unit": "s", "better": "lower", "value": 10, "min": 9, "max": 11, "n": 5, "peer": "mpirun",
        "foreign": True, "peer_value": 5, "peer_min": 5, "peer_max": 5, "ratio": 2, "aim": None, "peer_elsewhere": None, "note": "",
        "not_measured": "", "error": False} | {"aim": 2.0}


def test_a_file_is_replaced_as_a_whole_or_stays(tmp_path, monkeypatch):
    path = tmp_path / "new.json"
    path.write_text("old")
    os.link(path, tmp_path / "old.json")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(record.BadFile, match="'.*new.json' cannot be written: No space left on device; name another file"):
        record.write(path, document(row()))
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 2
    monkeypatch.undo()
    record.write(path, document(row()))
    assert (tmp_path / "old.json").read_text() == "old" and record.read(path)["cases"]


def test_a_link_stays_one(tmp_path):
    (tmp_path / "latest.json").symlink_to("new.json")
    record.write(tmp_path / "latest.json", document(row()))
    assert (tmp_path / "latest.json").is_symlink() and record.read(tmp_path / "new.json")["cases"]


@pytest.mark.parametrize("name, complaint", [
    ("no/new.json", "there is no folder"), ("", "is no regular file"), ("fifo", "is no regular file")])
def test_where_no_file_can_be_written_is_told_before(tmp_path, name, complaint):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(record.BadFile, match=complaint):
        record.look_at_target(tmp_path / name)
    record.look_at_target(tmp_path / "new.json")


@pytest.mark.parametrize("text, complaint", [
    (None, "cannot be read: No such file or directory"), (b"", "is no JSON"), (b"{", "is no JSON"), (b"\xff\xfe", "is no JSON"),
    (b"[" * 100000, "is no JSON"), (b"NaN", "NaN is no number"), (b'{"a": Infinity}', "Infinity is no number"),
    (b"[]", 'it has no "format"'), (b"{}", 'it has no "format"'), (b'"dtrain benchmarks"', 'it has no "format"')])
def test_what_is_no_file_of_figures_is_one_line(tmp_path, text, complaint):
    if text is not None:
        (tmp_path / "bad.json").write_bytes(text)
    with pytest.raises(record.BadFile) as failure:
        record.read(tmp_path / "bad.json")
    assert complaint in str(failure.value) and "\n" not in str(failure.value)
    assert str(failure.value).startswith(f"'{tmp_path / 'bad.json'}' ")


def changed(path, value):
    content = json.loads(json.dumps(document(with_peer(row(10, 9, 11), 5))))
    *folders, name = path
    at = content
    for folder in folders:
        at = at[folder]
    if value is KeyError:
        del at[name]
    else:
        at[name] = value
    return content


def every_field():
    whole = changed(("date",), "")
    return [*((name,) for name in whole if name not in ("dirty", "command", "complete")),
            *(("machine", name) for name in whole["machine"]), *(("cases", 0, name) for name in whole["cases"][0])]


@pytest.mark.parametrize("path", every_field(), ids=lambda path: ".".join(map(str, path)))
@pytest.mark.parametrize("value", [KeyError, None, [], "text", -1, True, 1e999], ids=str)
def test_a_file_with_a_wrong_field_is_refused(path, value):
    texts = {*record.TEXTS, "date", "commit", "cpu", "architecture", "os", "kernel"} - {"better"}
    right = ((value == "text" and path[-1] in texts) or (value is True and path[-1] in record.FLAGS)
             or (value is None and path[-1] in ("aim", "peer_elsewhere")) or (value == [] and path == ("cases",)))
    assert (record.what_is_wrong(changed(path, value)) == "") == right


@pytest.mark.parametrize("case", [
    {"min": 10.5}, {"max": 9.5}, {"min": None}, {"n": 0}, {"value": None, "n": 0}, {"peer_min": 6}, {"peer_max": None}, {"ratio": None},
    {"better": "faster"}, {"n": 10 ** 400, "value": 10 ** 400}])
def test_figures_that_do_not_fit_are_refused(case):
    content = changed(("date",), "")
    content["cases"][0].update(case)
    assert record.what_is_wrong(content).startswith("case 1: ")


def test_a_good_file_is_not_refused():
    assert record.what_is_wrong(changed(("date",), "")) == ""
    assert record.what_is_wrong(document(*[harness.Result("nccl", "", not_measured="no GPU")])) == ""
    assert record.what_is_wrong(copy.deepcopy(document())) == ""


def test_what_the_system_says_of_itself():
    assert machine.cpu_model("processor\t: 0\nmodel name\t: AMD EPYC  9R14\nprocessor\t: 1\nmodel name\t: AMD\n") == "AMD EPYC 9R14"
    assert machine.memory_bytes("MemTotal:       24607284 kB\nMemFree:  1 kB\n") == 24607284 * 1024
    assert machine.os_name('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian"\n') == "Debian GNU/Linux 12 (bookworm)"
    assert machine.os_name("PRETTY_NAME=Alpine\n") == "Alpine"
    assert (machine.cpu_model(""), machine.memory_bytes(""), machine.os_name("")) == ("", 0, "")
    assert machine.dtrain_version("project('dtrain', 'cpp',\n  version: '0.2.0-dev',\n  meson_version: '>=1')\n") == "0.2.0-dev"


def test_this_machine_is_described_as_files_want_it():
    content = document(row(), machine=machine.described({"PATH": os.environ["PATH"]}))
    assert record.what_is_wrong(content) == ""
    assert content["machine"]["cores"] == len(os.sched_getaffinity(0)) and content["machine"]["versions"]["dtrain"]


def git(folder, *words):
    subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_and_whether_files_differ(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert machine.commit_of(tmp_path) == {"commit": "", "dirty": None}
    git(tmp_path, "init")
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-m", "one")
    clean = machine.commit_of(tmp_path)
    assert len(clean["commit"]) == 40 and clean["dirty"] is False
    (tmp_path / "b").write_text("new files are built as well")
    assert machine.commit_of(tmp_path) == {**clean, "dirty": True}


def test_the_line_above_all_figures():
    date = "2026-11-24T22:00:00+00:00"
    assert machine.as_text(MACHINE, {"commit": "0123456789abcdef", "dirty": True}, date) == \
        f"2 cores of AMD EPYC, 24 GiB, Debian, load 0.1; {date}; commit 0123456789ab and changes"
    assert machine.as_text(MACHINE, {"commit": "", "dirty": None}, date).endswith("; no git checkout")
