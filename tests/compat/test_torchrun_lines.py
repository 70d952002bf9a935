# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Command lines of torchrun, as documents of its users have them, given to torchrun and to dtrain-run. Oracle: torchrun's ranks: their
variables, working folder, arguments and how the job ends. What may differ is in MAY_DIFFER and STATUS and in docs/torchrun.md.

Scripts are replaced by one that tells what it was given; numbers of processes are cut to 3."""
import json
import os
import pathlib
import re
import shlex

import pytest

from conftest import jobs

RUN = jobs.BUILD / "src" / "bin" / "dtrain-run"
SCRIPT = r"""
import json, os, sys
kept = ("TORCH", "MASTER_", "GROUP_", "ROLE_", "LOCAL_", "RANK", "WORLD_SIZE", "CUDA_VISIBLE_DEVICES")
report = {"env": {k: v for k, v in os.environ.items() if k.startswith(kept)}, "argv": sys.argv, "cwd": os.getcwd(),
          "main": __name__, "package": __package__, "executable": os.path.basename(sys.executable),
          "buffered": not sys.stdout.write_through}
with open(f"told.{os.environ['RANK']}.{os.environ.get('TORCHELASTIC_RESTART_COUNT')}", "w") as file:
    json.dump(report, file)
if "--fail" in sys.argv and os.environ["RANK"] == "1":
    sys.exit(3)
if "--fail-once" in sys.argv and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    sys.exit(3)
"""
# torchrun's store, signals and temporary folder are its own; see docs/torchrun.md.
MAY_DIFFER = {"TORCHELASTIC_SIGNALS_TO_HANDLE", "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_ERROR_FILE", "MASTER_ADDR"}
LINES = (pathlib.Path(__file__).parent / "torchrun_lines.txt").read_text().splitlines()
PRESET = {"PET_NPROC_PER_NODE": "3", "PET_RDZV_ID": "preset", "PET_MAX_RESTARTS": "2"}


def started(framework, job, name, program, line, env=None):
    """Exit status and what the ranks told, in a folder of this name."""
    folder = job.folder / name
    for script in ("train.py", "multigpu_torchrun.py", "train_stereo.py", "elastic_ddp.py", "pretrain_gpt.py", "run_clm.py",
                   "example_chat_completion.py", "example_text_completion.py", "pytorch/run_glue.py", "pytorch/run_squad.py",
                   "examples/nlp_example.py", "nlp_example.py", "cv_example.py", "package/train.py", "package/__init__.py"):
        path = folder / script
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if script.endswith("__init__.py") else SCRIPT)
    temporary = job.folder / f"{name[0]}"
    temporary.mkdir()
    line = line.replace("(--arg1 ... train script args...)", "--arg1")
    variables = {"PYTHON_EXEC": framework.python, "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1",
                 "CUDA_VISIBLE_DEVICES": "4,5" if "virtual" in line else "", **(env or {})}
    done = job.run("bash", "-c", f"cd {shlex.quote(str(folder))} && {program} {line}", env=variables, timeout=240)
    reports = {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("told.*"))}
    return done, reports


def comparable(report, folder, line):
    """What a rank told without what may differ, and paths without where the test runs."""
    out = json.loads(json.dumps(report).replace(str(folder), "FOLDER"))
    for name in MAY_DIFFER:
        out["env"].pop(name, None)
    is_static = "c10d" not in line
    if not is_static or not re.search("master_port|rdzv_endpoint", line):
        assert int(out["env"].pop("MASTER_PORT")) > 0
        if is_static:  # torchrun makes an id up, and forgets a given one
            assert out["env"].pop("TORCHELASTIC_RUN_ID")
    if "--run-path" in line:  # in a Python of its own, which does not buffer
        out = {**out, "package": "", "buffered": True}
    # argparse drops dashes among the script's arguments.
    return {**out, "argv": [arg for arg in out["argv"] if arg != "--"]}


@pytest.mark.parametrize("line", LINES)
def test_line(torch, job, line):
    compare(torch, job, line)


def test_preset(torch, job):
    compare(torch, job, "train.py", PRESET)


def compare(torch, job, line, env=None):
    torchrun = pathlib.Path(torch.python).parent / "torchrun"
    theirs, their_ranks = started(torch, job, "torchrun", torchrun, line, env)
    ours, our_ranks = started(torch, job, "dtrain-run", RUN, line, env)
    assert (ours.returncode == 0) == (theirs.returncode == 0), (ours.stderr, theirs.stderr)
    if not their_ranks:
        # A wrong command line: one line in place of a traceback, and status 2.
        assert not our_ranks and ours.returncode == 2 and ours.stderr.count("\n") == 1, ours.stderr
        return
    if "--fail" in shlex.split(line):
        assert (ours.returncode, theirs.returncode) == (3, 1), "the rank's own status, not 1"
        # A rank that is stopped may not have begun.
        their_ranks, our_ranks = ({name: rank for name, rank in ranks.items() if name.startswith("told.1")}
                                  for ranks in (their_ranks, our_ranks))
    if "--fail-once" in shlex.split(line):
        their_ranks, our_ranks = ({name: rank for name, rank in ranks.items() if name.endswith(".1")} for ranks in (their_ranks, our_ranks))
    assert our_ranks.keys() == their_ranks.keys() and our_ranks
    for name, rank in their_ranks.items():
        mine, their = (comparable(of_rank, job.folder / program, line)
                       for of_rank, program in ((our_ranks[name], "dtrain-run"), (rank, "torchrun")))
        mine_env, their_env = mine.pop("env"), their.pop("env")
        assert {key: (mine_env.get(key), their_env.get(key)) for key in mine_env.keys() | their_env.keys()
                if mine_env.get(key) != their_env.get(key)} == {}, "(dtrain-run, torchrun)"
        assert mine == their


def test_lines_are_many():
    assert len(LINES) > 50 and os.access(RUN, os.X_OK)
