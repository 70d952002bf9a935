#!/usr/bin/env python3
# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of pages in docs/pictures: of three jobs (--report run.html) and of several compared (dtrain-launch
compare), each wide, as wide as a phone, and dark.

tests/support/page_pictures.py [FOLDER]; it needs the programs of a build (DTRAIN_BUILD, else build/) and Chromium or Chrome.
"""
import base64
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import browser
from whole_jobs import LAUNCH, NATIVE_JOB, ROOT, clean_environment

PICTURES = ROOT / "docs/pictures"
VIEWS = {"wide": {"width": 1100}, "phone": {"width": 390}, "dark": {"width": 1100, "dark": True}}
LONGEST = {"compared": 2200}  # pixels from the top; what is below is cut off


def longest(job):
    return LONGEST.get(job, 1300)


# Rank 1 fails, or sleeps for ever, when it has worked for a moment.
TRAIN = """
import os, time
for step in range(3):
    print("step", step, flush=True)
    time.sleep(0.4)
if os.environ["RANK"] == "1":
    {what}
time.sleep(1000)
"""
# What is started for a page, one after the other, and the status of each.
JOBS = {
    "done": [(["--report", "run.html", "--nproc_per_node", 2, "digits.toml"], 0)],
    "failed": [(["--report", "run.html", "--nproc_per_node", 4, "--max_restart", 1, "fails.py"], 1)],
    "hung": [(["--report", "run.html", "--nproc_per_node", 4, "--hang-timeout", 2, "hangs.py"], 124)],
    "compared": [*((["--report", f"{name}.html", "--nproc_per_node", ranks, f"{name}.toml"], 0)
                   for name, ranks in (("adam", 2), ("sgd", 2), ("adam-16", 1))),
                 (["compare", "--output", "run.html", "adam.html", "sgd.html", "adam-16.html"], 0)],
}
BEFORE = {"compared": "(slider => { slider.value = 0.6; slider.oninput(); })(document.querySelector('.smoothing'))"}  # a picture


def make_page(name, folder):
    """The page of a job that ends so, in a folder of its own; its path."""
    for toml, hidden, optimizer in (("digits", 64, "adam"), ("adam", 64, "adam"), ("sgd", 64, "sgd"), ("adam-16", 16, "adam")):
        (folder / f"{toml}.toml").write_text(NATIVE_JOB.format(hidden=hidden, digits=ROOT / "examples/digits.h5", epochs=20,
                                                               optimizer=optimizer, name=f"of-{toml}", every=10))
    (folder / "fails.py").write_text(TRAIN.format(what="raise ValueError('batch 3 has 31 samples, and not 32')"))
    (folder / "hangs.py").write_text(TRAIN.format(what="input_of_nobody = os.read(os.pipe()[0], 1)"))
    for words, status in JOBS[name]:
        options = [] if words[0] == "compare" else ["--no-banner", "--grace", 1]
        done = subprocess.run([str(word) for word in (LAUNCH, *options, *words)], cwd=folder, env=clean_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if done.returncode != status:
            raise RuntimeError(f"{name}: status {done.returncode} and not {status}\n{done.stderr}")
    return folder / "run.html"


# The pixels as numbers of the 255 most frequent colours, or of the nearest of these.
INDEXED = """(async () => {
    const picture = new Image();
    picture.src = 'data:image/png;base64,%s';
    await picture.decode();
    const canvas = new OffscreenCanvas(picture.width, picture.height), pen = canvas.getContext('2d');
    pen.drawImage(picture, 0, 0);
    const words = new Uint32Array(pen.getImageData(0, 0, picture.width, picture.height).data.buffer), counts = new Map();
    for (const word of words) counts.set(word, (counts.get(word) || 0) + 1);
    const colours = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a)).slice(0, 255);
    const parts = word => [word & 255, word >> 8 & 255, word >> 16 & 255], palette = colours.map(parts), index = new Map();
    colours.forEach((word, i) => index.set(word, i));
    for (const word of counts.keys()) {
        if (index.has(word)) continue;
        const wanted = parts(word), far = palette.map(each => each.reduce((sum, part, i) => sum + (part - wanted[i]) ** 2, 0));
        index.set(word, far.indexOf(Math.min(...far)));
    }
    let text = '';
    for (const word of words) text += String.fromCharCode(index.get(word));
    return [picture.width, picture.height, palette, btoa(text)];
})()"""


def chunk(kind, content):
    body = kind + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def small(tab, png):
    """The same picture with at most 255 colours, a third as large."""
    width, height, palette, pixels = tab.value(INDEXED % base64.b64encode(png).decode())
    pixels = base64.b64decode(pixels)
    rows = b"".join(b"\0" + pixels[row * width:(row + 1) * width] for row in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) +
            chunk(b"PLTE", bytes(part for colour in palette for part in colour)) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def main(folder):
    if browser.PROGRAM is None:
        sys.exit("neither Chromium (Debian package chromium) nor Chrome is installed")
    folder.mkdir(exist_ok=True)
    for job in JOBS:
        with tempfile.TemporaryDirectory(prefix="dtrain-page.") as temporary:
            page = make_page(job, pathlib.Path(temporary))
            blank = pathlib.Path(temporary) / "blank.html"
            blank.write_text("<!DOCTYPE html><title>blank</title>")
            with browser.Browser(pathlib.Path(temporary) / "browser") as tab:
                taken = {}
                for view, options in VIEWS.items():
                    tab.open(page, **options)
                    tab.value(BEFORE.get(job, "0"))
                    taken[view] = tab.picture(longest(job))
                tab.open(blank)  # as the page lets nobody show pictures on it
                for view, picture in taken.items():
                    (folder / f"page-{job}-{view}.png").write_bytes(small(tab, picture))
                if tab.errors:
                    sys.exit(f"{job}: {tab.errors}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
