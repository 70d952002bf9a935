# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain-launch compare: two jobs on one page, and the page in a real browser.

Oracles: the JSON lines and the page of the jobs; Python's html.parser; what the browser draws of one run alone.
"""
import json
import stat

import pytest

import browser
from browser import Browser
from conftest import LAUNCH, ROOT, run
from test_metrics import lines_of, page_of
from test_page_in_a_browser import choose, curves, drag, is_zoomed, page, read_at  # noqa: F401: a fixture
from whole_jobs import NATIVE_JOB

in_a_browser = pytest.mark.skipif(browser.PROGRAM is None, reason="neither Chromium (Debian package chromium) nor Chrome is installed")


def launch(folder, *words):
    return run([LAUNCH, *words], folder)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the page of a job, the lines of another one with other settings, and the page that compares them."""
    folder = tmp_path_factory.mktemp("compared")
    for optimizer, ranks, words in (("adam", 2, ["--report", "adam.html", "job.toml"]), ("sgd", 1, ["job.toml", "--metrics", "sgd.jsonl"])):
        (folder / "job.toml").write_text(NATIVE_JOB.format(hidden=16, digits=ROOT / "examples" / "digits.h5", epochs=3, optimizer=optimizer,
                                                           name=optimizer, every=3))
        done = launch(folder, "--nproc_per_node", ranks, *words)
        assert done.returncode == 0, done.stderr
    done = launch(folder, "compare", "adam.html", "sgd.jsonl", "--output", "compare.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 runs compared in compare.html\n", "")
    return folder


def cells(page, section):
    """Rows of a section's tables, by their first words."""
    return {row[0]: row[1:] for row in page.value(f"""[...document.querySelectorAll('#{section} tr')].map(row =>
        [...row.cells].map(cell => cell.textContent))""")}


def test_two_jobs_are_compared(trained):
    adam, sgd = page_of(trained / "adam.html").run, lines_of(trained / "sgd.jsonl")
    page = page_of(trained / "compare.html")
    assert page.headings == ["2 runs compared", "Runs", "Settings that differ", "Curves"]
    assert [each["name"] for each in page.run] == ["adam", "sgd"]
    assert page.run[0]["run"]["rows"] == adam["rows"]
    of_all = {"time", "seconds", "event", "epoch", "step"}
    assert page.run[1]["run"]["rows"] == [
        {name: line[name] for name in ("event", "time", "seconds", "epoch", "step")} |
        {"values": {name: value for name, value in line.items() if name not in of_all}} for line in sgd[1:-1]]
    assert [each["run"]["outcome"] for each in page.run] == ["done", "done"]
    assert "optimizer" in page.sections["settings"] and "adam, learning rate" in page.sections["settings"]
    assert stat.S_IMODE((trained / "compare.html").stat().st_mode) == 0o600


def test_runs_can_be_named_and_lines_of_two_trainings_are_two_runs(trained, tmp_path):
    lines = (trained / "sgd.jsonl").read_text()
    (tmp_path / "twice.jsonl").write_text(lines + lines)
    (tmp_path / "a=b.html").write_bytes((trained / "adam.html").read_bytes())
    done = launch(tmp_path, "compare", f"first one={trained}/adam.html", "twice.jsonl", "a=b.html", "-o", "compare.html")
    assert (done.returncode, done.stderr) == (0, "")
    page = page_of(tmp_path / "compare.html")
    assert [each["name"] for each in page.run] == ["first one", "twice (1)", "twice (2)", "a=b"]
    assert page.run[1]["run"] == page.run[2]["run"]


@pytest.mark.parametrize("words, message", [
    ([], "--output is required"),
    (["--output", "out.html"], "RUN is required"),
    (["adam.html", "sgd.jsonl"], "--output is required"),
    (["--output", "out.html", "adam.html"], "adam.html is one run"),
    (["--output", "out.html", "adam.html", "adam.html"], "two runs are called adam.html"),
    (["--output", "out.html", "x=adam.html", "x=sgd.jsonl"], "two runs are called x"),
    (["--output", "out.html", "adam.html", "none.html"], "cannot read none.html"),
    (["--output", "out.html", "adam.html", "log"], "cannot read log"),
    (["--output", "out.html", "adam.html", "job.toml"], "job.toml tells of no run"),
    (["--output", "out.html", "adam.html", "compare.html"], "compare.html tells of no run"),
    (["--output", "out.html", "adam.html", "damaged.jsonl"], "damaged.jsonl, line 2 "),
    (["--output", "./adam.html", "adam.html", "sgd.jsonl"], "--output ./adam.html is one of the runs"),
    (["--output", "nowhere/out.html", "adam.html", "sgd.jsonl"], "--output nowhere/out.html cannot be written"),
    (["--output", "log", "adam.html", "sgd.jsonl"], '--output "log" is no regular file'),
    (["--out", "out.html", "adam.html", "sgd.jsonl"], "--out"),
])
def test_bad_input_is_one_line(trained, words, message):
    (trained / "damaged.jsonl").write_text("\n".join((trained / "sgd.jsonl").read_text().splitlines()[:1] + ["hello\x1b[1m", ""]))
    before = (trained / "adam.html").read_bytes()
    done = launch(trained, "compare", *words)
    assert done.returncode == 2 and done.stdout == "" and message in done.stderr
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("dtrain-launch: ") and done.stderr.rstrip("\n").isprintable()
    assert not (trained / "out.html").exists() and (trained / "adam.html").read_bytes() == before


def test_help_says_what_a_run_is(trained):
    done = launch(trained, "compare", "--help")
    assert done.returncode == 0 and "--output" in done.stdout and "JSON lines" in done.stdout
    assert "dtrain-launch compare --output FILE.html" in launch(trained, "--help").stdout


@in_a_browser
def test_without_scripts_the_lines_are_the_same(trained, page):  # noqa: F811
    page.open(trained / "compare.html", scripts=False)
    assert page.value("[...document.querySelectorAll('.legend button')].every(key => key.disabled)")
    drawn = lines_by_chart(page)
    page.open(trained / "compare.html")
    assert drawn and all(sum(map(len, line)) > 1 for lines in drawn.values() for line in lines)
    for title, lines in lines_by_chart(page).items():
        assert [points for line in lines for segment in line for points in segment] == \
            [pytest.approx(points, abs=0.11) for line in drawn[title] for segment in line for points in segment]


def lines_by_chart(page):  # noqa: F811
    return {title: chart["lines"] for title, chart in curves(page).items()}


@in_a_browser
def test_curves_of_one_name_lie_over_each_other(trained, page):  # noqa: F811
    adam = {row["step"]: row["values"] for row in page_of(trained / "adam.html").run["rows"] if row["event"] == "epoch"}
    sgd = {line["step"]: line for line in lines_of(trained / "sgd.jsonl") if line["event"] == "epoch"}
    page.open(trained / "compare.html")
    titles = page.value("[...document.querySelectorAll('.curve h3')].map(h => h.textContent)")
    assert titles == ["Loss training, within an epoch", "Loss training, whole epoch", "Loss test",
                      "Accuracy training, whole epoch", "Accuracy test", "Throughput within an epoch", "Throughput whole epoch"]
    for chart, name in ((1, "train_loss"), (4, "test_accuracy")):
        for number, step in enumerate((22, 44, 66)):
            assert read_at(page, number / 2, chart) == [f"step {step}", *(str(float(f"{of[step][name]:.4g}")) for of in (adam, sgd))]
    assert page.value("[...document.querySelectorAll('.curve .legend')[1].querySelectorAll('button')].map(b => b.innerText.split(' ')[0])") \
        == ["adam", "sgd"]
    drag(page, 0.2, 0.6)
    assert is_zoomed(page)


@in_a_browser
def test_the_tables_have_what_the_runs_ended_with(trained, page):  # noqa: F811
    adam = [row for row in page_of(trained / "adam.html").run["rows"] if row["event"] == "epoch"][-1]["values"]
    *rows, end = lines_of(trained / "sgd.jsonl")
    sgd = [line for line in rows if line["event"] == "epoch"][-1]
    page.open(trained / "compare.html")
    table = cells(page, "compared")
    assert table[""] == ["adam", "sgd"] and table["outcome"] == ["done", "done"]
    assert table["epochs"] == ["3", "3"] and table["steps"] == ["66", "66"] and table["ranks"] == ["2 on 1 node", "-"]
    for row, name in (("Loss, training, whole epoch", "train_loss"), ("Accuracy, test", "test_accuracy")):
        assert table[row] == [f"{values[name]:.4g}" for values in (adam, sgd)]
    assert table["time"][1] == f"{end['seconds']:.2f} s" if end["seconds"] < 10 else True
    settings = page.value("[...document.querySelectorAll('#settings .card > .compared tr')].map(row => row.cells[0].textContent)")
    assert {"optimizer", "training"} <= set(settings) and "seed" not in settings and "model" not in settings
    assert "seed" in page.value("document.querySelector('#settings details').textContent")


@in_a_browser
def test_a_name_hides_its_run_in_all_charts(trained, page):  # noqa: F811
    page.open(trained / "compare.html")
    before = curves(page)
    page.value("document.querySelector('.runs button').click()")
    assert all(len(chart["lines"]) == 1 for chart in curves(page).values())
    colours = page.value("[...new Set([...document.querySelectorAll('.lines path')].map(path => path.classList[1]))]")
    assert colours == ["c1"]
    pressed = page.value("""[...document.querySelectorAll('.legend button')].map(key => [key.dataset.run, key.getAttribute('aria-pressed')])""")
    assert pressed == [[run, {"0": "false", "1": "true"}[run]] for run, _ in pressed] and len(pressed) == 2 + 2 * 7
    page.value("document.querySelector('.curve .legend button').click()")  # a chart's own legend does the same
    assert curves(page) == before


@in_a_browser
def test_compared_runs_are_smoothed_each_by_itself(trained, page):  # noqa: F811
    page.open(trained / "compare.html")
    choose(page, ".smoothing", "0.8")
    both = read_at(page, 0.5)
    page.value("document.querySelector('.runs button').click()")
    alone = read_at(page, 0.5)
    assert "(" in both[2] and (alone[0], alone[2]) == (both[0], both[2])


@in_a_browser
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_and_has_its_colours(trained, page, dark):  # noqa: F811
    page.open(trained / "compare.html", width=390, dark=dark)
    assert page.value("document.scrollingElement.scrollWidth") <= 390
    lines = page.value("[...document.querySelector('.lines').querySelectorAll('path')].map(path => getComputedStyle(path).stroke)")
    assert lines == (["rgb(92, 184, 240)", "rgb(242, 166, 90)"] if dark else ["rgb(0, 103, 168)", "rgb(198, 84, 0)"])


@in_a_browser
def test_many_runs_with_long_names_fit_a_phone(trained, tmp_path):
    names = [f"learning-rate-0.{number:03}-with-a-name-as-long-as-people-make-them" for number in range(12)]
    done = launch(trained, "compare", *(f"{name}={('adam.html', 'sgd.jsonl')[i % 2]}" for i, name in enumerate(names)), "-o", tmp_path / "many.html")
    assert done.returncode == 0, done.stderr
    with Browser(tmp_path / "browser") as tab:
        for width in (390, 1280):
            tab.open(tmp_path / "many.html", width=width)
            assert tab.value("document.scrollingElement.scrollWidth") <= width
        kinds = tab.value("[...document.querySelectorAll('.runs path')].map(path => path.classList[1])")
        assert kinds == [f"c{number % 8}" for number in range(12)]
        strokes = tab.value("[...document.querySelectorAll('.runs path')].slice(0, 8).map(path => getComputedStyle(path))"
                            ".map(style => style.stroke + style.strokeDasharray)")
        assert len(set(strokes)) == 8 and all("rgb(" in stroke for stroke in strokes)
        assert tab.errors == []


def test_json_lines_of_a_job_that_is_still_training_are_compared(trained, tmp_path):
    lines = (trained / "sgd.jsonl").read_text().splitlines()
    (tmp_path / "now.jsonl").write_text("\n".join(lines[:6]) + "\n" + lines[6][:9])
    done = launch(tmp_path, "compare", trained / "sgd.jsonl", "now.jsonl", "--output", "compare.html")
    assert done.returncode == 0, done.stderr
    now = page_of(tmp_path / "compare.html").run[1]["run"]
    assert now["outcome"] == "running" and len(now["rows"]) == 5 and now["seconds"] == json.loads(lines[5])["seconds"]


def test_a_job_that_went_on_from_a_checkpoint_is_one_run(trained, tmp_path):
    for epochs, resume in ((3, []), (5, ["--resume"])):
        (tmp_path / "job.toml").write_text(NATIVE_JOB.format(hidden=16, digits=ROOT / "examples" / "digits.h5", epochs=epochs, optimizer="sgd",
                                                             name="kept", every=3))
        done = launch(tmp_path, "--nproc_per_node", 1, "job.toml", "--metrics", "m.jsonl", *resume)
        assert done.returncode == 0, done.stderr
    done = launch(tmp_path, "compare", trained / "adam.html", "m.jsonl", "--output", "compare.html")
    assert (done.returncode, done.stderr) == (0, "")
    resumed = page_of(tmp_path / "compare.html").run[1]["run"]
    assert [(row["epoch"], row["step"]) for row in resumed["rows"] if row["event"] == "epoch"] == [(epoch, 22 * epoch) for epoch in range(1, 6)]
    ends = [line["seconds"] for line in lines_of(tmp_path / "m.jsonl") if line["event"] == "end"]
    assert len(ends) == 2 and resumed["seconds"] == pytest.approx(sum(ends)) and resumed["outcome"] == "done"
