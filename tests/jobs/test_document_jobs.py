# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The job files of README.md and of the pages below docs/, and what else is no code: other languages are all listed.

A block of TOML is a part of a job: `<!-- test: in ctr.toml -->` before it says that its tables replace those of examples/ctr.toml.
Such a job trains for an epoch on small data of the kind that the page speaks of.

Oracle: dtrain's own reader, which refuses what it does not know, and the job, which ends well.
"""
import gzip
import random
import re

import pytest

from conftest import BUILD, LAUNCH, PYTHON, ROOT, WORKER, mpirun, run
from documents import PageError, all_blocks, blocks_of
from test_gpu_jobs import STAND_IN

BLOCKS = all_blocks("toml")
LANGUAGES = {
    "cpp": "test_document_programs.py", "sh": "test_document_commands.py", "console": "test_document_commands.py", "toml": "here",
    "python": "test_python.py", "yaml": "here", "diff": "test_tutorial.py compares it with the programs",
    "mermaid": "nothing can be run: pictures that GitHub draws",
    "text": "nothing can be run: what programs print, and trees of folders",
}
# Folders of the pages that are nobody's here.
ELSEWHERE = ["/local/disk", "/local/scratch"]


def test_every_block_has_a_language_that_a_test_looks_at():
    assert {block.language for block in all_blocks()} == LANGUAGES.keys(), [
        str(block) for block in all_blocks() if block.language not in LANGUAGES]


@pytest.mark.parametrize("text, complaint", [
    ("<!-- test: in a.cpp -->\nwords\n```cpp\n```\n", "page:1: no block behind this comment"),
    ("```cpp\nint a;\n", "page:1: a block without end"),
    ("```cpp\n```\n<!-- test: in a.cpp -->\n", "page:3: no block behind this comment"),
])
def test_comments_and_blocks_that_are_not_whole_are_errors(text, complaint):
    with pytest.raises(PageError) as error:
        blocks_of("page", text)
    assert str(error.value) == complaint


def tables_of(text):
    """{"data": "[data]\\n..."}; what is before the first has no name."""
    parts = re.split(r"^(?=\[)", text, flags=re.M)
    return {(match[1] if (match := re.match(r"\[([\w.]+)\]", part)) else ""): part for part in parts}


def job_of(block, folder):
    """The text of the job: the block's tables in the place of those of the example."""
    (name,) = block.named("in")
    tables = tables_of((ROOT / "examples" / name).read_text()) | tables_of(block.text)
    text = "".join(part.rstrip("\n") + "\n" for part in tables.values())
    for elsewhere in ELSEWHERE:
        text = text.replace(f'"{elsewhere}', f'"{folder}/elsewhere')
    return text


def write(path, text):
    """A file of text, in gzip's format when its name says so."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def flowers():
    return "width,length,kind\n" + "".join(f"{kind}.{number},{number},{kind}\n" for number in range(40) for kind in range(3))


def clicks_by_name():
    chance = random.Random(1)
    return "clicked,age,price,site,user,ad\n" + "".join(
        f"{chance.randrange(2)},{chance.randrange(90)},{chance.random():.2f},site{chance.randrange(9)},{chance.randrange(99)},{chance.randrange(9)}\n"
        for _ in range(200))


def clicks_by_id():
    """Thirteen numbers, then a category of each slot that begins at 14, 120 and 45000."""
    chance = random.Random(1)
    return "".join(f"{chance.randrange(2)} " + " ".join(f"{number}:{chance.random():.2f}" for number in range(1, 14))
                   + f" {chance.randrange(14, 120)}:1 {chance.randrange(120, 45000)}:1 {chance.randrange(45000, 50000)}:1\n" for _ in range(200))


def prepare(text, folder):
    """The files that the job names."""
    for file in re.findall(r'file = "([^"]+)"', text):
        path = folder / file
        if file.endswith("flowers.csv.gz"):
            write(path, flowers())
        elif file.endswith(".csv.gz"):
            write(path, clicks_by_name())
        elif file.endswith(".svm"):
            write(path, clicks_by_id())
        elif file.endswith(".h5"):
            path.write_bytes((ROOT / "examples" / file).read_bytes())
        else:
            counts = re.findall(r"^(?:integers|slots) = (\d+)", text, re.M) or ["13", "26"]  # Criteo's own
            made = run([PYTHON, ROOT / "examples/make_clicks.py", "made", "--train", "400", "--test", "200",
                        "--integers", counts[0], "--slots", counts[1]], folder)
            assert made.returncode == 0, made.stderr
            write(path, (folder / "made" / ("test.tsv" if "test" in file else "train.tsv")).read_text())


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_job_of_the_pages_trains(block, tmp_path):
    text = job_of(block, tmp_path)
    if "spill =" in text and not (BUILD / "src/libdtrain.so").read_bytes().count(b"librocksdb"):
        pytest.skip("this build has no RocksDB")
    (tmp_path / "job.toml").write_text(text)
    (tmp_path / "elsewhere").mkdir()
    prepare(text, tmp_path)
    if re.search(r"^\[servers\]", text, re.M):
        command = [LAUNCH, "--no-banner", "--server_num", "1", "--worker_num", "2", "job.toml", "--epochs", "1"]
        done = run(command, tmp_path, OMPI_MCA_mpi_yield_when_idle=1, **STAND_IN)
    else:
        done = mpirun(2, [WORKER, "job.toml", "--epochs", "1"], tmp_path)
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    assert "parameters    checksum" in done.stdout, done.stdout


@pytest.mark.parametrize("change, complaint", [(("dir", "folder"), "folder"), (("collective = true", "collective = 1"), "collective"),
                                               (("[checkpoint]", "[checkpoints]"), "checkpoints")])
def test_a_key_that_is_wrong_is_refused(change, complaint, tmp_path):
    """So that a page that has one fails."""
    (block,) = (block for block in BLOCKS if block.page == "docs/checkpoints.md")
    text = job_of(block, tmp_path)
    (tmp_path / "job.toml").write_text(text.replace(*change, 1))
    prepare(text, tmp_path)
    done = run([WORKER, "job.toml"], tmp_path)
    assert done.returncode == 2 and complaint in done.stderr, done.stderr


def test_folders_of_the_pages_are_named():
    for elsewhere in ELSEWHERE:
        assert any(f'"{elsewhere}' in block.text for block in BLOCKS), elsewhere


def test_yaml_is_yaml():
    yaml = pytest.importorskip("yaml", reason="PyYAML (Debian package python3-yaml) is not installed")
    (block,) = all_blocks("yaml")
    assert yaml.safe_load(block.text)["scrape_configs"][0]["static_configs"][0]["targets"] == ["node1:9400"]
