# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What people can do with a page of a real job, in a real browser.

Oracles: the job's JSON lines; the curves as C++ has drawn them, which a browser without scripts shows; what the browser
says of errors and of requests.
"""
import base64
import json
import re
import struct

import pytest

import browser
import page_pictures
from browser import Browser
from conftest import ROOT, mpirun
from test_metrics import lines_of
from whole_jobs import NATIVE_JOB

pytestmark = pytest.mark.skipif(browser.PROGRAM is None, reason="neither Chromium (Debian package chromium) nor Chrome is installed")


@pytest.fixture(scope="module")
def trained(native, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    (folder / "job.toml").write_text(NATIVE_JOB.format(hidden=16, digits=ROOT / "examples" / "digits.h5", epochs=3, optimizer="adam",
                                                       name="kept", every=3))
    done = mpirun(2, [native, "job.toml", "--metrics", "m.jsonl", "--report", "run.html"], folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def page(tmp_path):
    with Browser(tmp_path / "browser") as there:
        yield there
        assert there.errors == []
        assert [url for url in there.requests if not url.startswith(("file://", "about:"))] == []


def curves(page):
    """Of each chart its title, the numbers at its axes, and its lines as lists of segments of points."""
    found = page.value("""[...document.querySelectorAll('.curve')].map(box => ({
        title: box.querySelector('h3').textContent,
        steps: [...box.querySelectorAll('.ticks text[text-anchor=middle]')].map(text => text.textContent),
        values: [...box.querySelectorAll('.ticks text[text-anchor=end]')].map(text => text.textContent),
        paths: [...box.querySelectorAll('.lines path')].map(path => path.getAttribute('d'))}))""")
    for chart in found:
        chart["lines"] = [[[tuple(map(float, point.split())) for point in part.split("L")] for part in path.split("M")[1:]]
                          for path in chart.pop("paths")]
    return {chart.pop("title"): chart for chart in found}


def place(page, part=0.5, chart=0):
    """Where on the screen a part of a chart's width is."""
    return page.value(f"""(() => {{
        const svg = document.querySelectorAll('svg.chart')[{chart}], [left, right, top] = svg.dataset.frame.split(' ').map(Number);
        svg.scrollIntoView({{block: 'center'}});
        const frame = svg.getBoundingClientRect(), unit = frame.width / svg.viewBox.baseVal.width;
        return [frame.left + (left + (right - left) * {part}) * unit, frame.top + (top + 50) * unit];
    }})()""")


def drag(page, first, last):
    (x0, y), (x1, _) = place(page, first), place(page, last)
    page.mouse(("Moved", x0, y, 0), ("Pressed", x0, y, 1), ("Moved", (x0 + x1) / 2, y, 1), ("Moved", x1, y, 1), ("Released", x1, y, 1))


def is_zoomed(page):
    return page.value("!document.querySelector('.whole').hidden")


def with_rows(trained, rows, path):
    """The page with other data, from which its scripts draw."""
    def changed(found):
        return found[1] + json.dumps(json.loads(found[2]) | {"rows": rows}) + found[3]
    path.write_text(re.sub(r'(<script [^>]*id="run">)(.*?)(</script>)', changed, (trained / "run.html").read_text(), flags=re.S))
    return path


def row(step, loss):
    return {"event": "step", "time": 0, "seconds": 0, "epoch": 1, "step": step, "values": {"loss": loss}}


def test_without_scripts_the_curves_are_the_same(trained, page):
    page.open(trained / "run.html", scripts=False)
    drawn = curves(page)
    assert page.value("[...document.querySelectorAll('.legend button')].every(key => key.disabled)")
    assert page.value("document.querySelector('.hint').hidden")
    page.open(trained / "run.html")
    again = curves(page)
    assert list(drawn) == list(again) == ["Loss", "Accuracy", "Throughput"]
    for title, chart in drawn.items():
        for axis in ("steps", "values"):
            assert chart[axis] == again[title][axis] and len(chart[axis]) > 1
        for line, same in zip(chart["lines"], again[title]["lines"], strict=True):
            for segment, other in zip(line, same, strict=True):
                for point, other_point in zip(segment, other, strict=True):
                    assert point == pytest.approx(other_point, abs=0.11)


def test_a_drag_zooms_all_curves_and_a_double_click_shows_all_again(trained, page):
    page.open(trained / "run.html")
    before = curves(page)
    assert not is_zoomed(page)
    drag(page, 0.75, 0.25)
    assert is_zoomed(page)
    for chart in curves(page).values():
        assert len(chart["steps"]) > 1
        assert all(1 + 0.24 * 65 <= int(step) <= 1 + 0.76 * 65 for step in chart["steps"])  # there are 66
    x, y = place(page)
    page.mouse(("Moved", x, y, 0), ("Pressed", x, y, 1), ("Released", x, y, 1), ("Pressed", x, y, 2), ("Released", x, y, 2))
    assert not is_zoomed(page) and curves(page) == before
    drag(page, 0.2, 0.4)
    page.value("document.querySelector('.whole').click()")
    assert not is_zoomed(page) and curves(page) == before


def test_a_click_moves_nothing(trained, page):
    page.open(trained / "run.html")
    before = curves(page)
    x, y = place(page)
    page.mouse(("Moved", x, y, 0), ("Pressed", x, y, 1), ("Released", x, y, 1))
    assert not is_zoomed(page) and curves(page) == before


def test_a_pointer_reads_the_values_of_its_step(trained, page):
    lines = {line["step"]: line for line in lines_of(trained / "m.jsonl") if line["event"] in ("step", "epoch")}
    page.open(trained / "run.html")
    last = page.value("[...document.querySelector('.legend').querySelectorAll('b')].map(b => b.textContent)")
    x, y = place(page, (20 - 1) / (66 - 1))
    page.mouse(("Moved", x, y, 0))
    assert page.value("document.querySelector('.reading').textContent") == "step 20"
    values = page.value("[...document.querySelector('.legend').querySelectorAll('b')].map(b => b.textContent)")
    # Of epochs the nearest.
    assert [float(value) for value in values] == [float(f"{value:.4g}") for value in (lines[20]["loss"], lines[22]["train_loss"])] \
        + ([float(f"{lines[22]['test_loss']:.4g}")] if "test_loss" in lines[22] else [])
    page.mouse(("Moved", 1, 1, 0))
    assert page.value("[...document.querySelector('.legend').querySelectorAll('b')].map(b => b.textContent)") == last


def test_a_name_hides_its_line(trained, page):
    page.open(trained / "run.html")
    before = curves(page)["Loss"]
    page.value("document.querySelector('.legend button').click()")
    assert curves(page)["Loss"]["lines"] != before["lines"] and len(curves(page)["Loss"]["lines"]) == len(before["lines"]) - 1
    assert page.value("document.querySelector('.legend button').getAttribute('aria-pressed')") == "false"
    page.value("document.querySelector('.legend button').click()")
    assert curves(page)["Loss"] == before


def test_gaps_and_starts_are_seen(trained, page, tmp_path):
    """A value that is no number, and a job that was started again from step 4."""
    rows = [row(step, value) for step, value in [(1, 3), (2, None), (3, 2), (4, 2), (5, 1), (6, 1), (5, 1.5), (6, 1.25)]]
    page.open(with_rows(trained, rows, tmp_path / "run.html"))
    line = curves(page)["Loss"]["lines"][0]
    assert [len(segment) for segment in line] == [1, 4, 2]
    x, y = place(page, (5 - 1) / (6 - 1))
    page.mouse(("Moved", x, y, 0))
    assert page.value("document.querySelector('.legend b').textContent") == "1.5"  # what the later start says


def test_a_long_run_is_zoomed_to_one_moment(trained, page, tmp_path):
    rows = [row(step, 9 if step == 54_321 else 1 + step % 7 / 100) for step in range(1, 100_001)]
    page.open(with_rows(trained, rows, tmp_path / "run.html"))
    x, y = place(page)
    page.mouse(("Moved", x, y, 0), ("Pressed", x, y, 1), ("Moved", x + 2, y, 1), ("Released", x + 2, y, 1))
    assert not is_zoomed(page)  # a click is never quite still
    for _ in range(40):
        ticks = page.value("[...document.querySelectorAll('.curve')[0].querySelectorAll('.ticks text[text-anchor=middle]')]"
                           ".map(text => [Number(text.getAttribute('x')), text.textContent])")
        assert len({text for _, text in ticks}) == len(ticks) > 1
        low, high = page.value("""(() => {
            const path = document.querySelector('.lines path').getAttribute('d').slice(1).split('L').map(p => p.split(' ').map(Number));
            const [left, right] = document.querySelector('svg.chart').dataset.frame.split(' ').map(Number);
            const at = x => (x - path[0][0]) / (path.at(-1)[0] - path[0][0]) * 99999 + 1;
            return [at(left), at(right)];
        })()""")
        if high - low < 100:
            break
        assert low < 54_321 < high
        middle = (54_321 - low) / (high - low)
        drag(page, max(0, middle - 0.15), min(1, middle + 0.15))
    assert high - low < 100
    x, y = place(page, (54_321 - low) / (high - low))
    page.mouse(("Moved", x, y, 0))
    assert page.value("[document.querySelector('.reading').textContent, document.querySelector('.legend b').textContent]") == ["step 54,321", "9"]


def test_a_finger_zooms_too(trained, page):
    page.open(trained / "run.html", width=390)
    before = curves(page)
    (first, y), (last, _) = place(page, 0.3), place(page, 0.7)
    page.touch(*[(first + (last - first) * part / 8, y) for part in range(9)])
    assert is_zoomed(page)
    assert all(1 + 0.29 * 65 <= int(step) <= 1 + 0.71 * 65 for chart in curves(page).values() for step in chart["steps"])
    page.value("document.querySelector('.whole').click()")
    assert curves(page) == before
    page.touch(place(page, (44 - 1) / (66 - 1)))
    assert page.value("document.querySelector('.reading').textContent") == "step 44"


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_and_has_its_colours(trained, page, dark):
    page.open(trained / "run.html", width=390, dark=dark)
    assert page.value("document.scrollingElement.scrollWidth") <= 390
    back, line = page.value("[document.body, document.querySelector('.lines path')].map(one => getComputedStyle(one))"
                            ".map((style, i) => i ? style.stroke : style.backgroundColor)")
    assert (back, line) == (("rgb(20, 23, 26)", "rgb(92, 184, 240)") if dark else ("rgb(251, 251, 250)", "rgb(0, 103, 168)"))


@pytest.fixture(scope="module", params=["failed", "hung"])
def ended_badly(request, tmp_path_factory):
    return request.param, page_pictures.make_page(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("view", page_pictures.VIEWS)
def test_the_page_of_a_job_that_ended_badly_begins_with_the_reason(ended_badly, page, view):
    how, path = ended_badly
    options = page_pictures.VIEWS[view]
    page.open(path, **options)
    reason, top = page.value("[document.querySelector('#failure h2')].flatMap(h => [h.textContent, h.getBoundingClientRect().top])")
    assert {"failed": "rank 1 on ", "hung": "dtrain-launch stopped the job: it hung"}[how] in reason and top < 250
    told = page.value("document.querySelector('#failure').innerText")
    assert {"failed": "batch 3 has 31 samples, and not 32", "hung": "workerlog.1.stacks"}[how] in told
    assert page.value("document.scrollingElement.scrollWidth") <= options["width"]


def test_ranks_stand_below_each_other_on_one_scale(ended_badly, page):
    how, path = ended_badly
    page.open(path)
    tracks = page.value("""[...document.querySelectorAll('#timeline .bar.life')].map(track => {
        const box = track.getBoundingClientRect();
        return [box.left, box.width, [...track.querySelectorAll('i')].map(bar => bar.getBoundingClientRect()).map(b => [b.left, b.right])];
    })""")
    assert len(tracks) == 4 and len({(left, width) for left, width, _ in tracks}) == 1
    for left, width, bars in tracks:
        assert len(bars) == {"failed": 2, "hung": 1}[how]
        assert all(left - 1 <= begin < end <= left + width + 1 for begin, end in bars)


def size_of(png):
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png[12:16] == b"IHDR"
    return struct.unpack(">II", png[16:24])


def test_a_picture_of_a_page_has_its_size_and_colours(trained, tmp_path):
    (tmp_path / "blank.html").write_text("<!DOCTYPE html><title>blank</title>")
    with Browser(tmp_path / "browser") as there:
        there.open(trained / "run.html", width=390)
        whole = there.picture(500)
        there.open(tmp_path / "blank.html")
        small = page_pictures.small(there, whole)
        assert size_of(whole) == size_of(small) == (390, 500) and len(small) < len(whole)
        corner = there.value("""(async () => {
            const picture = new Image();
            picture.src = 'data:image/png;base64,%s';
            await picture.decode();
            const pen = new OffscreenCanvas(390, 500).getContext('2d');
            pen.drawImage(picture, 0, 0);
            return [...pen.getImageData(1, 1, 1, 1).data];
        })()""" % base64.b64encode(small).decode())
    assert corner == [251, 251, 250, 255]


def test_the_pictures_in_docs_are_those_of_the_script():
    kept = {path.name: path.read_bytes() for path in page_pictures.PICTURES.glob("*.png")}
    assert set(kept) == {f"page-{job}-{view}.png" for job in page_pictures.JOBS for view in page_pictures.VIEWS}
    assert sum(map(len, kept.values())) < 600_000
    for name, png in kept.items():
        view = page_pictures.VIEWS[name.removesuffix(".png").split("-")[-1]]
        assert size_of(png)[0] == view["width"] and 300 < size_of(png)[1] <= page_pictures.MAX, name
    page = (ROOT / "docs/following.md").read_text()
    assert all(f"(pictures/{name})" in page for name in kept)
