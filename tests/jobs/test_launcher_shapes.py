# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Command lines of the tests that Paddle has of its own launcher, with programs that say what they were given.

Oracle: those tests' conditions (status 0, the variables that their programs demand, how many logs there are), and Paddle's
variables for servers and trainers: endpoints of all nodes, servers and trainers numbered node by node.
"""
import json

import pytest

from conftest import LAUNCH
from free_ports import free_ports

SHOW = """
import glob, json, os, time
env = dict(os.environ)
role = env.get("TRAINING_ROLE", "RANK")
number = env["PADDLE_TRAINER_ID"] if role != "PSERVER" else env["PADDLE_PORT"]
with open(f"new.{role}.{number}", "w") as out:
    json.dump(env, out)
os.rename(f"new.{role}.{number}", f"{role}.{number}.json")
if role == "PSERVER":
    time.sleep(1000)  # servers are stopped when the trainers are done
while role == "TRAINER" and len(glob.glob("PSERVER.*.json")) < len(env["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")):
    time.sleep(0.01)
"""


def shown(job, role):
    found = [json.loads(path.read_text()) for path in sorted(job.folder.glob(f"{role}.*.json"))]
    assert found, list(job.folder.iterdir())
    return found


def logs(folder):
    return sorted(path.name for path in folder.glob("*log.[0-9]*"))


@pytest.fixture
def show(job):
    job.script("train.py", SHOW)
    return job


def test_run_mode_ps_alone_is_one_server_and_one_trainer(show):
    done = show.launch("--run_mode", "ps", "train.py")
    assert done.returncode == 0, done.stderr
    assert logs(show.folder / "log") == ["serverlog.0", "workerlog.0"]
    server, = shown(show, "PSERVER")
    trainer, = shown(show, "TRAINER")
    for env in (server, trainer):
        assert env["PADDLE_PSERVERS_IP_PORT_LIST"] == f"{server['POD_IP']}:{server['PADDLE_PORT']}"
        assert env["PADDLE_TRAINER_ENDPOINTS"] == f"{trainer['POD_IP']}:{trainer['PADDLE_PORT']}"
    assert (server["PADDLE_ROLE"], trainer["PADDLE_ROLE"]) == ("PSERVER", "TRAINER")


@pytest.mark.parametrize("words", [("--server_num=1", "--trainer_num=1"), ("--run_mode", "ps")])
def test_servers_and_trainers_of_two_nodes_meet_at_a_master(show, words):
    [port] = free_ports(1)
    launchers = [show.start(LAUNCH, "--job_id", "ps3", "--log_dir", f"log{node}", "--master", f"127.0.0.1:{port}",
                            "--nnodes", "2", *words, "train.py", env={"DTRAIN_KEY_FILE": show.folder / "key"})
                 for node in (1, 2)]
    ends = [launcher.communicate(timeout=90) for launcher in launchers]
    assert [launcher.returncode for launcher in launchers] == [0, 0], ends
    # Either launcher may be node 0: the one that got the port.
    assert sorted(logs(show.folder / f"log{node}") for node in (1, 2)) == [["serverlog.0", "workerlog.0"],
                                                                           ["serverlog.1", "workerlog.1"]]
    servers, trainers = shown(show, "PSERVER"), shown(show, "TRAINER")
    assert (len(servers), len(trainers)) == (2, 2)
    lists = {env["PADDLE_PSERVERS_IP_PORT_LIST"] for env in servers + trainers}
    assert len(lists) == 1 and set(lists.pop().split(",")) == {f"{env['POD_IP']}:{env['PADDLE_PORT']}" for env in servers}
    endpoints = [f"{env['POD_IP']}:{env['PADDLE_PORT']}" for env in trainers]
    assert {env["PADDLE_TRAINER_ENDPOINTS"] for env in servers + trainers} == {",".join(endpoints)}
    assert [env["PADDLE_TRAINER_ID"] for env in trainers] == ["0", "1"]
    assert {(env["PADDLE_TRAINERS_NUM"], env["PADDLE_NNODES"]) for env in servers + trainers} == {("2", "2")}
    assert any("node 1 of 2: server 1, worker 1" in err for _, err in ends), ends


def test_a_collective_node_does_not_fit_a_job_with_servers(show):
    [port] = free_ports(1)
    lines = (["--server_num", 1, "--trainer_num", 1], ["--nproc_per_node", 2])
    launchers = [show.start(LAUNCH, "--log_dir", f"log{rank}", "--master", f"127.0.0.1:{port}", "--nnodes", "2", "--rank", rank,
                            *words, "train.py", env={"DTRAIN_KEY_FILE": show.folder / "key"})
                 for rank, words in enumerate(lines)]
    ends = [launcher.communicate(timeout=90) for launcher in launchers]
    assert [launcher.returncode for launcher in launchers] == [2, 2], ends
    assert all("its job has no parameter servers, node 0's has some" in err for _, err in ends), ends
    assert not list(show.folder.glob("*.json"))


def test_a_rank_mapping_is_where_ranks_run(show):
    (show.folder / "map.json").write_text('{"ip_ranks": [{"ip": "127.0.0.1", "ranks": [0,1]}]}')
    [port] = free_ports(1)
    done = show.launch("--rank_mapping_file", "map.json", "--enable_auto_mapping", "true", "--log_dir=testlog", "train.py",
                       env={"FLAGS_START_PORT": str(port)})
    if f"TCP port {port}" in done.stderr:
        pytest.skip("somebody else took the port")
    assert done.returncode == 0, done.stderr
    ranks = shown(show, "RANK")
    assert [env["PADDLE_CURRENT_ENDPOINT"] for env in ranks] == [f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"]
    assert {(env["PADDLE_TRAINERS_NUM"], env["PADDLE_ENABLE_AUTO_MAPPING"], env["PADDLE_RANK_MAPPING_PATH"])
            for env in ranks} == {("2", "True", str(show.folder / "map.json"))}
    assert logs(show.folder / "testlog") == ["workerlog.0", "workerlog.1"]


@pytest.mark.parametrize("by", ["option", "variable"])
def test_programs_are_told_of_the_automatic_parallelism(show, by):
    (show.folder / "auto.json").write_text('{"tuner_save_path": "a.pkl", "tuner_run_mode": "tuner_and_run"}')
    words, env = ((), {"PADDLE_AUTO_PARALLEL_CONFIG": "auto.json"}) if by == "variable" else (
        ("--auto_parallel_config", "auto.json"), {})
    done = show.launch("--job_id", "test4", "--nproc_per_node", 2, *words, "train.py", env=env)
    assert done.returncode == 0, done.stderr
    ranks = shown(show, "RANK")
    assert {(env["PADDLE_AUTO_PARALLEL_CONFIG"], env["PADDLE_AUTO_PARALLEL_STAGE"], env["PADDLE_GLOBAL_SIZE"],
             env["PADDLE_LOCAL_SIZE"]) for env in ranks} == {(str(show.folder / "auto.json"), "run", "2", "2")}


def test_fleetrun_of_the_build(job):
    """Before anything is installed, as the README's commands leave it."""
    done = job.run(LAUNCH.with_name("fleetrun"), "--nproc_per_node", 2, "--quiet", "sh", "-c", "exit 0")
    assert done.returncode == 0, done.stderr
    assert {"workerlog.0", "workerlog.1"} <= {path.name for path in (job.folder / "log").iterdir()}
