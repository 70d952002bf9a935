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
    with Browser(tmp_path / "browser") as tab:
        yield tab
        assert tab.errors == []
        assert [url for url in tab.requests if not url.startswith(("file://", "about:"))] == []


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


def screen_position(page, part=0.5, chart=0):
    """Where on the screen a part of a chart's width is."""
    return page.value(f"""(() => {{
        const svg = document.querySelectorAll('svg.chart')[{chart}], [left, right, top] = svg.dataset.frame.split(' ').map(Number);
        svg.scrollIntoView({{block: 'center'}});
        const frame = svg.getBoundingClientRect(), unit = frame.width / svg.viewBox.baseVal.width;
        return [frame.left + (left + (right - left) * {part}) * unit, frame.top + (top + 50) * unit];
    }})()""")


def drag(page, first, last):
    (x0, y), (x1, _) = screen_position(page, first), screen_position(page, last)
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
    return {"event": "step", "time": 0, "seconds": step / 4, "epoch": 1, "step": step, "values": {"loss": loss}}


def choose(page, control, value):
    page.value(f"""(() => {{
        const control = document.querySelector('{control}');
        control.value = {value!r};
        control.dispatchEvent(new Event(control.type === 'range' ? 'input' : 'change'));
    }})()""")


def read_at(page, part, chart=0):
    """What the legend and the line below a chart say with the pointer there."""
    x, y = screen_position(page, part, chart)
    page.mouse(("Moved", x, y, 0))
    return page.value(f"""(() => {{
        const box = document.querySelectorAll('.curve')[{chart}];
        return [box.querySelector('.reading').textContent, ...[...box.querySelectorAll('.legend b')].map(b => b.textContent)];
    }})()""")


def losses_drawn(page):
    """The lines of the first chart that have points; where it is smoothed, first those of the values."""
    return [line for line in curves(page)["Loss"]["lines"] if line]


def weighted_means(values, weight):
    """Of each value and those before it; the last counts 1, the one before `weight`, then its square and so on."""
    means = []
    for end in range(1, len(values) + 1):
        pairs = [(weight ** (end - 1 - i), value) for i, value in enumerate(values[:end]) if value is not None]
        means.append(sum(times * value for times, value in pairs) / sum(times for times, _ in pairs))
    return means


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
    x, y = screen_position(page)
    page.mouse(("Moved", x, y, 0), ("Pressed", x, y, 1), ("Released", x, y, 1), ("Pressed", x, y, 2), ("Released", x, y, 2))
    assert not is_zoomed(page) and curves(page) == before
    drag(page, 0.2, 0.4)
    page.value("document.querySelector('.whole').click()")
    assert not is_zoomed(page) and curves(page) == before


def test_a_click_moves_nothing(trained, page):
    page.open(trained / "run.html")
    before = curves(page)
    x, y = screen_position(page)
    page.mouse(("Moved", x, y, 0), ("Pressed", x, y, 1), ("Released", x, y, 1))
    assert not is_zoomed(page) and curves(page) == before


def test_a_pointer_reads_the_values_of_its_step(trained, page):
    lines = {line["step"]: line for line in lines_of(trained / "m.jsonl") if line["event"] in ("step", "epoch")}
    page.open(trained / "run.html")
    last = page.value("[...document.querySelector('.legend').querySelectorAll('b')].map(b => b.textContent)")
    x, y = screen_position(page, (20 - 1) / (66 - 1))
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
    x, y = screen_position(page, (5 - 1) / (6 - 1))
    page.mouse(("Moved", x, y, 0))
    assert page.value("document.querySelector('.legend b').textContent") == "1.5"  # what the later start says


def test_smoothing_shows_weighted_means_before_the_values(trained, page, tmp_path):
    losses = [4, 1, 3, 0.5, 2, 0.25, 1, 0.125, 2, 1]
    page.open(with_rows(trained, [row(step, loss) for step, loss in enumerate(losses, 1)], tmp_path / "run.html"))
    before, written = curves(page), page.value("document.querySelector('.legend b').textContent")
    choose(page, ".smoothing", "0.6")
    assert page.value("document.querySelector('.smoothing').nextElementSibling.textContent") == "0.6"
    raw, line = losses_drawn(page)
    assert [raw] == [line for line in before["Loss"]["lines"] if line] and curves(page)["Loss"]["values"] == before["Loss"]["values"]
    faint, full = page.value("['.lines .raw', '.lines path:not(.raw)'].map(path => getComputedStyle(document.querySelector(path)).strokeOpacity)")
    assert 0 < float(faint) < 0.5 and full == "1"
    means = weighted_means(losses, 0.6)
    # Heights are linear in values: the first and the fourth value say how.
    scale = (raw[0][3][1] - raw[0][0][1]) / (losses[3] - losses[0])
    for (x, y), (raw_x, _), mean in zip(line[0], raw[0], means, strict=True):
        assert x == raw_x and y == pytest.approx(raw[0][0][1] + (mean - losses[0]) * scale, abs=0.2)
    for step in range(1, 11):
        reading, value = read_at(page, (step - 1) / 9)[:2]
        smooth, original = value.split(" ")
        assert (reading, original) == (f"step {step}", f"({losses[step - 1]:g})")
        assert float(smooth) == pytest.approx(means[step - 1], rel=1e-3)
    page.mouse(("Moved", 1, 1, 0))
    assert page.value("document.querySelector('.legend b').textContent").endswith(" (1)")
    choose(page, ".smoothing", "0")
    assert curves(page) == before and page.value("document.querySelector('.legend b').textContent") == written


def test_smoothing_stays_through_zooms(trained, page, tmp_path):
    losses = [3 + (step * 7 % 11) / 4 for step in range(1, 101)]
    page.open(with_rows(trained, [row(step, loss) for step, loss in enumerate(losses, 1)], tmp_path / "run.html"))
    choose(page, ".smoothing", "0.9")
    before = read_at(page, (50 - 1) / 99)
    assert float(before[1].split()[0]) == pytest.approx(weighted_means(losses, 0.9)[49], rel=1e-3)
    (x0, y), (x1, _) = screen_position(page, (40 - 1) / 99), screen_position(page, (60 - 1) / 99)
    page.mouse(("Moved", x0, y, 0), ("Pressed", x0, y, 1), ("Moved", x1, y, 1), ("Released", x1, y, 1))
    assert is_zoomed(page) and page.value("document.querySelector('.smoothing').value") == "0.9"
    assert len(losses_drawn(page)) == 2
    # The same value at the same step: the values before those that are seen count, too.
    assert read_at(page, 0.5) == before
    choose(page, ".smoothing", "0.5")
    assert is_zoomed(page)
    assert float(read_at(page, 0.5)[1].split()[0]) == pytest.approx(weighted_means(losses, 0.5)[49], rel=1e-3)


def test_smoothing_begins_anew_with_a_start_and_leaves_gaps(trained, page, tmp_path):
    steps = [(1, 8), (2, None), (3, 2), (4, 4), (3, 1), (4, 3)]
    page.open(with_rows(trained, [row(step, loss) for step, loss in steps], tmp_path / "run.html"))
    choose(page, ".smoothing", "0.5")
    raw, line = losses_drawn(page)
    assert [len(segment) for segment in raw] == [len(segment) for segment in line] == [1, 2, 2]
    first = weighted_means([8, 2, 4], 0.5)
    again = weighted_means([1, 3], 0.5)
    scale = (raw[1][1][1] - raw[1][0][1]) / 2
    heights = [y for segment in line for _, y in segment]
    assert heights == pytest.approx([raw[1][0][1] + (mean - 2) * scale for mean in first + again], abs=0.3)
    assert read_at(page, 1)[1] == f"{again[1]:.4g} (3)"


def test_curves_by_time(trained, page, tmp_path):
    page.open(with_rows(trained, [row(step, 100 - step) for step in (1, 2, 3, 7)], tmp_path / "run.html"))
    drag(page, 0.1, 0.6)
    choose(page, ".axis-choice", "seconds")
    assert not is_zoomed(page)
    assert page.value("document.querySelector('svg .name').textContent") == "time [s]"
    assert read_at(page, 0.3)[:2] == ["0.75 s", "97"]  # 0.7 s: by step it would be 2.8
    drag(page, 0.1, 0.6)
    assert is_zoomed(page)
    choose(page, ".axis-choice", "step")
    assert not is_zoomed(page) and read_at(page, 1)[:2] == ["step 7", "93"]


def test_a_long_run_is_zoomed_to_one_moment(trained, page, tmp_path):
    rows = [row(step, 9 if step == 54_321 else 1 + step % 7 / 100) for step in range(1, 100_001)]
    page.open(with_rows(trained, rows, tmp_path / "run.html"))
    x, y = screen_position(page)
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
    x, y = screen_position(page, (54_321 - low) / (high - low))
    page.mouse(("Moved", x, y, 0))
    assert page.value("[document.querySelector('.reading').textContent, document.querySelector('.legend b').textContent]") == ["step 54,321", "9"]


def test_a_finger_zooms_too(trained, page):
    page.open(trained / "run.html", width=390)
    before = curves(page)
    (first, y), (last, _) = screen_position(page, 0.3), screen_position(page, 0.7)
    page.touch(*[(first + (last - first) * part / 8, y) for part in range(9)])
    assert is_zoomed(page)
    assert all(1 + 0.29 * 65 <= int(step) <= 1 + 0.71 * 65 for chart in curves(page).values() for step in chart["steps"])
    page.value("document.querySelector('.whole').click()")
    assert curves(page) == before
    page.touch(screen_position(page, (44 - 1) / (66 - 1)))
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
    text = page.value("document.querySelector('#failure').innerText")
    assert {"failed": "batch 3 has 31 samples, and not 32", "hung": "workerlog.1.stacks"}[how] in text
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
    with Browser(tmp_path / "browser") as tab:
        tab.open(trained / "run.html", width=390)
        whole = tab.picture(500)
        tab.open(tmp_path / "blank.html")
        small = page_pictures.small(tab, whole)
        assert size_of(whole) == size_of(small) == (390, 500) and len(small) < len(whole)
        corner = tab.value("""(async () => {
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
    assert sum(map(len, kept.values())) < 900_000 and max(map(len, kept.values())) < 200_000
    for name, png in kept.items():
        _, job, view = name.removesuffix(".png").split("-")
        assert size_of(png)[0] == page_pictures.VIEWS[view]["width"] and 300 < size_of(png)[1] <= page_pictures.longest(job), name
    guide = (ROOT / "docs/following.md").read_text()
    assert all(f"(pictures/{name})" in guide for name in kept)
