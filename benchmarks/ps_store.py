# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A sparse table, of 16 floats a row unless --width says otherwise, to disk, fsync included, and back from a file that is
in no cache; what a save costs those that pull and push meanwhile, in one process and by a parameter server.

Peers: dd of as many bytes with 4 MiB blocks and conv=fsync; dd of the same file, in no cache either, into one block of
memory; the same batches without a save. --size MB takes another size; the files lie in a folder below TMPDIR, and are
removed. Loads and their peers begin when as much memory has just been given back as they need, and again after a rest: the
host of a virtual machine takes back what is free, and may need seconds to find as much again.
"""

import mmap
import os
import shutil
import tempfile
import time
from pathlib import Path

from checkpoint import seconds_of_dd
from harness import Case, Missing, Unavailable, built, figure, once
from ps import numbers, ranks

AIM_TO_DD = 0.8
AIM_OF_BATCHES = 3.0
REPEATS = 5
REPEATS_OF_REQUESTS = 3
HUGE_PAGE = 2 << 20
REST = 25  # seconds
LIMIT = 3600  # seconds; tables may be large


def cases(build, megabytes=720, width=16):
    built(build, "benchmarks/table_store", "benchmarks/ps_rate")
    program = str(build / "benchmarks/table_store")
    rows = (megabytes << 20) // (8 + 4 * width)
    with tempfile.TemporaryDirectory(prefix="dtrain-benchmark-") as name:
        folder = Path(name)
        if shutil.disk_usage(folder).free < 4 * megabytes << 20:
            raise Unavailable(f"{folder.parent} has less free than 4 x {megabytes} MB; TMPDIR names another folder")
        size = (rows, width)
        what = f"{rows} rows of {width} floats, {megabytes} MB,"
        yield Case(f"{what} saved and synced", "MB/s", "higher", lambda: rate(megabytes, save(program, folder, size)),
                   "dd bs=4M conv=fsync", lambda: rate(megabytes, dd_to_disk(folder, megabytes)), AIM_TO_DD, repeats=REPEATS,
                   foreign=True)
        saved = once(lambda: (own(program, "save", folder, size), next(folder.glob("*.rows")))[1])
        yield Case(f"{what} loaded into a new table", "MB/s", "higher",
                   with_memory(megabytes, lambda: load(program, saved(), size)), "dd bs=4M conv=fsync, the other way",
                   with_memory(megabytes, lambda: dd_to_disk(folder, megabytes)), AIM_TO_DD, repeats=REPEATS, foreign=True)
        yield Case(f"{what} loaded after a rest", "MB/s", "higher",
                   after_rest(megabytes, lambda: load(program, saved(), size)), "dd bs=4M conv=fsync after one",
                   after_rest(megabytes, lambda: dd_to_disk(folder, megabytes)), AIM_TO_DD, repeats=REPEATS, foreign=True)
        yield Case(f"{what} loaded into a new table", "MB/s", "higher",
                   with_memory(megabytes, lambda: load(program, saved(), size)), "dd of the file into one block of memory",
                   with_memory(megabytes, lambda: dd_to_memory(saved())), AIM_TO_DD, repeats=REPEATS, foreign=True)
        yield Case(f"99% of batches of 1024 pulls and pushes during saves, {rows} rows, take at most", "us", "lower",
                   lambda: own(program, "busy", folder, size), "without saves",
                   lambda: own(program, "quiet", folder, size), AIM_OF_BATCHES, repeats=3)
        yield from during_saves(str(build / "benchmarks/ps_rate"), folder, size)


def during_saves(program, folder, size):
    """A trainer and a server that makes one save after the other."""
    rows, width = size
    if shutil.which("mpirun") is None:
        yield Missing("requests at a server that saves", "mpirun is not in PATH")
        return
    for batch in (1024, 16384):
        figures = once(lambda batch=batch: [ranks(2, program, "save", "sgd", width, batch, rows, 1, folder)
                                            for _ in range(REPEATS_OF_REQUESTS + 1)])
        for request, words in (("pull", "pulls"), ("both", "pulls and pushes")):
            for quantile, number in (("50%", 1), ("99%", 2)):
                yield Case(f"{quantile} of {words} of {batch} ids at a server that saves {rows} rows take at most", "us",
                           "lower", numbers(figures, f"saving_{request}", number), "one that does not",
                           numbers(figures, request, number), AIM_OF_BATCHES, repeats=REPEATS_OF_REQUESTS)


def rate(megabytes, seconds):
    return megabytes * (1 << 20) / 1e6 / seconds


def with_memory(megabytes, seconds):
    return begun_after(lambda: [touch(2 * megabytes << 20) for _ in range(3)], megabytes, seconds)


def after_rest(megabytes, seconds):
    return begun_after(lambda: time.sleep(REST), megabytes, seconds)


def begun_after(prepare, megabytes, seconds):
    def measured():
        prepare()
        return rate(megabytes, seconds())
    return measured


def touch(size):
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, size, HUGE_PAGE):
            memory[at] = 1


def own(program, what, folder, size):
    return figure([program, what, folder, *size], float, limit=LIMIT)


def save(program, folder, size):
    target = folder / "ours"
    target.mkdir()
    try:
        return own(program, "save", target, size)
    finally:
        shutil.rmtree(target)


def load(program, file, size):
    forget(file)
    return own(program, "load", file.parent, size)


def forget(file):
    """Takes the file out of the page cache."""
    with open(file, "rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def dd_to_disk(folder, megabytes):
    target = folder / "dd"
    try:
        return seconds_of_dd("if=/dev/zero", f"of={target}", "bs=4M", f"count={megabytes // 4}", "conv=fsync")
    finally:
        target.unlink(missing_ok=True)


def dd_to_memory(file):
    forget(file)
    return seconds_of_dd(f"if={file}", "of=/dev/null", f"bs={file.stat().st_size}", "count=1", "iflag=fullblock")
