# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Scripts of Paddle and torch, unchanged, under dtrain-launch.

Oracles: the same training worked out here in plain Python on the whole batch, which the average of the ranks'
gradients must equal; and the frameworks' own launchers, which must leave the same numbers behind.
"""
import json
import math

import pytest

from conftest import SCRIPTS

PADDLE_SCRIPTS = ["paddle_data_parallel.py", "paddle_fleet.py"]


def trained_alone():
    """Weights and bias of the scripts' linear model after five steps of gradient descent in one process."""
    x = [[math.sin(4 * row + column) for column in range(4)] for row in range(8)]
    y = [math.cos(row) for row in range(8)]
    parameters = [0.5] * 4 + [0.25]
    for _ in range(5):
        errors = [sum(p * v for p, v in zip(parameters, row + [1])) - wanted for row, wanted in zip(x, y)]
        slopes = [sum(2 * error * (row + [1])[i] for row, error in zip(x, errors)) / 8 for i in range(5)]
        parameters = [p - 0.1 * slope for p, slope in zip(parameters, slopes)]
    return parameters


def check_what_ranks_saw(job, ranks, arguments):
    for rank in range(ranks):
        path = job.folder / f"seen.{rank}.json"
        seen = json.loads(path.read_text())
        path.unlink()
        assert seen["ranks"] == ranks
        assert seen["total"] == ranks * (ranks + 1) / 2
        assert seen["arguments"] == arguments
        assert seen["parameters"] == pytest.approx(trained_alone(), abs=1e-5)


# Paddle 3.3's fleet fails under Paddle's own launcher as well with one process on CPU (it asks for a PipelineLayer),
# and now and then with four (gloo: connection refused).
@pytest.mark.parametrize("script, ranks", [(PADDLE_SCRIPTS[0], 1), (PADDLE_SCRIPTS[0], 2), (PADDLE_SCRIPTS[0], 4),
                                           (PADDLE_SCRIPTS[1], 2)])
def test_paddle_scripts_train_as_one_process_would(paddle, job, script, ranks):
    done = paddle.launch("--nproc_per_node", ranks, SCRIPTS / script, "--lr", "0.1")
    assert done.returncode == 0, done.stdout + done.stderr
    check_what_ranks_saw(job, ranks, ["--lr", "0.1"])
    assert job.left_behind() == []


@pytest.mark.parametrize("script", PADDLE_SCRIPTS)
def test_paddles_own_launcher_leaves_the_same_numbers(paddle, job, script):
    done = paddle.run(paddle.python, "-m", "paddle.distributed.launch", "--nproc_per_node", 2, SCRIPTS / script,
                      "--lr", "0.1")
    assert done.returncode == 0, done.stdout + done.stderr
    check_what_ranks_saw(job, 2, ["--lr", "0.1"])


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_torch_scripts_train_as_one_process_would(torch, job, ranks):
    done = torch.launch("--nproc_per_node", ranks, SCRIPTS / "torch_data_parallel.py", "--lr", "0.1")
    assert done.returncode == 0, done.stdout + done.stderr
    check_what_ranks_saw(job, ranks, ["--lr", "0.1"])
    assert job.left_behind() == []


def test_torchrun_leaves_the_same_numbers(torch, job):
    done = torch.run(torch.python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", 2,
                     SCRIPTS / "torch_data_parallel.py", "--lr", "0.1")
    assert done.returncode == 0, done.stdout + done.stderr
    check_what_ranks_saw(job, 2, ["--lr", "0.1"])


def test_fleet_finds_its_part_in_a_parameter_server_job(paddle, job):
    done = paddle.launch("--server_num", 2, "--worker_num", 3, SCRIPTS / "paddle_roles.py")
    assert done.returncode == 0, done.stdout + done.stderr
    names = [f"server.{index}" for index in range(2)] + [f"worker.{index}" for index in range(3)]
    seen = {name: json.loads((job.folder / f"seen.{name}.json").read_text()) for name in names}
    assert len({json.dumps(each["servers"]) for each in seen.values()}) == 1
    assert len(set(seen["server.0"]["servers"])) == 2
    assert all(each["workers"] == 3 for each in seen.values())
    assert [name for name in names if seen[name]["first"]] == ["worker.0"]
    assert job.left_behind() == []
