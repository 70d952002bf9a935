# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs of every mode: what each process is told, which logs it has, when the job ends and how.

Oracles: the variables that Paddle's launchers of 2.0-2.3 and 2.4-3.x give to the processes of a mode, and what its role
makers read from them; the documents' words on logs; the issue's rules of a parameter-server job's life. The machine has
no GPU: cards are those that CUDA_VISIBLE_DEVICES names.
"""
import json
import os
import re
import socket

import pytest

from free_ports import free_ports

# Finds its place as Paddle's role makers do, dies where they would, and writes down all it was told.
FINDS_ITSELF = """
import json, os, sys
env = dict(os.environ)
role = env.get("TRAINING_ROLE", "TRAINER")
me = env["POD_IP"] + ":" + env["PADDLE_PORT"] if "TRAINING_ROLE" in env else env["PADDLE_CURRENT_ENDPOINT"]
lists = {"PSERVER": "PADDLE_PSERVERS_IP_PORT_LIST", "TRAINER": "PADDLE_TRAINER_ENDPOINTS",
         "HETER_TRAINER": "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"}
index = env[lists[role]].split(",").index(me)
if role == "TRAINER":
    assert index == int(env["PADDLE_TRAINER_ID"]), "the place in the list is the rank"
    assert len(env["PADDLE_TRAINER_ENDPOINTS"].split(",")) == int(env["PADDLE_TRAINERS_NUM"])
if "STAGE_ID" in env:
    assert eval(env["PADDLE_STAGE_TRAINERS_NUM"])[int(env["STAGE_ID"]) - 1] >= 1
if "FLAGS_selected_gpus" in env:
    positions = [int(position) for position in env["FLAGS_selected_gpus"].split(",")]
    assert max(positions) < len(env["CUDA_VISIBLE_DEVICES"].split(","))
with open(f"{role}.{index}.tmp", "w") as out: json.dump(env, out)
os.rename(f"{role}.{index}.tmp", f"{role}.{index}.json")
print(role, index, flush=True)
"""

# The job ends with its workers: they wait for the others.
TOGETHER = FINDS_ITSELF + """
import time
others = [f"{role}.{index}.json" for role, variable in lists.items() if role != "TRAINER"
          for index in range(len(env[variable].split(",")) if env.get(variable) else 0)]
while role == "TRAINER" and not all(os.path.exists(name) for name in others): time.sleep(.02)
"""

# Becomes what `lives` says for its role.
LIVES = FINDS_ITSELF + """
import signal, time
def for_ever(ignoring=False):
    if ignoring: signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)
def when(name):
    while not os.path.exists(name): time.sleep(.02)
"""


def environment_of(job, role, index):
    return json.loads((job.folder / f"{role}.{index}.json").read_text())


def subset(env, names):
    return {name: env.get(name) for name in names}


def logs(job, folder="log"):
    return sorted(path.name for path in (job.folder / folder).iterdir() if not path.name.startswith("."))


def check(env, expected):
    """None: the variable must not be there."""
    assert subset(env, expected) == expected


# --- collective -----------------------------------------------------------------------------------------------------


def run_collective(job, *options, env=None, ranks=2):
    job.script("finds.py", FINDS_ITSELF)
    done = job.launch(*options, "finds.py", env=env)
    assert done.returncode == 0, done.stderr
    assert job.left_behind() == []
    return done, [environment_of(job, "TRAINER", rank) for rank in range(ranks)]


def expected_of_collective(job, envs, rank):
    size = str(len(envs))
    return {
        # 2.0-2.3
        "PADDLE_TRAINER_ID": str(rank), "PADDLE_TRAINERS_NUM": size, "PADDLE_RANK_IN_NODE": str(rank),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(env["PADDLE_CURRENT_ENDPOINT"] for env in envs),
        "PADDLE_WITH_GLOO": "0", "PADDLE_GLOO_RENDEZVOUS": "3",
        # 2.4-3.x
        "PADDLE_GLOBAL_SIZE": size, "PADDLE_LOCAL_SIZE": size, "PADDLE_GLOBAL_RANK": str(rank),
        "PADDLE_LOCAL_RANK": str(rank), "PADDLE_NNODES": "1", "PADDLE_LOG_DIR": str(job.folder / "log"),
        # of other modes
        "TRAINING_ROLE": None, "PADDLE_PSERVERS_IP_PORT_LIST": None, "PADDLE_WORKER_ENDPOINT": None,
        "PADDLE_MASTER_ENDPOINT": None, "FLAGS_selected_xpus": None,
        # of torch
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "GROUP_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
    }


def check_addresses_of_collective(envs):
    """One port for each process, one for each of the two rendezvous; the same for all."""
    endpoints = [env["PADDLE_CURRENT_ENDPOINT"] for env in envs]
    masters = {env["PADDLE_MASTER"] for env in envs} | {f"{env['MASTER_ADDR']}:{env['MASTER_PORT']}" for env in envs}
    assert len(masters) == 2 and len(set(endpoints) | masters) == len(endpoints) + 2
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+", address) for address in endpoints)
    assert len({env["PADDLE_GLOO_FS_PATH"] for env in envs}) == 1
    assert not os.path.exists(envs[0]["PADDLE_GLOO_FS_PATH"]), "the folder is gone with the job"
    assert len({env["POD_NAME"] for env in envs}) == 1 and re.fullmatch("[a-z]{6}", envs[0]["POD_NAME"])


def test_collective_on_cpus(job):
    done, envs = run_collective(job, "--nproc_per_node", 2)
    for rank, env in enumerate(envs):
        check(env, {**expected_of_collective(job, envs, rank), "FLAGS_selected_gpus": None,
                    "FLAGS_selected_accelerators": None, "PADDLE_LOCAL_DEVICE_IDS": "", "PADDLE_WORLD_DEVICE_IDS": ",",
                    "PADDLE_DISTRI_BACKEND": "gloo"})
    check_addresses_of_collective(envs)
    assert logs(job) == ["endpoints.log", "hostfile", "workerlog.0", "workerlog.1"]
    endpoints = envs[0]["PADDLE_TRAINER_ENDPOINTS"].replace(",", "\n")
    assert (job.folder / "log/endpoints.log").read_text() == f"PADDLE_TRAINER_ENDPOINTS:\n{endpoints}\n"
    assert job.log(1) == "TRAINER 1\n" and "TRAINER 1" not in done.stdout and done.stdout.endswith("TRAINER 0\n")


def test_collective_on_cards(job):
    done, envs = run_collective(job, env={"CUDA_VISIBLE_DEVICES": "0,1"})
    assert "no GPU 0,1" in done.stderr
    for rank, env in enumerate(envs):
        check(env, {**expected_of_collective(job, envs, rank), "FLAGS_selected_gpus": str(rank),
                    "FLAGS_selected_accelerators": str(rank), "PADDLE_LOCAL_DEVICE_IDS": str(rank),
                    "PADDLE_WORLD_DEVICE_IDS": "0,1", "PADDLE_DISTRI_BACKEND": "nccl", "CUDA_VISIBLE_DEVICES": "0,1",
                    "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    check_addresses_of_collective(envs)


def test_the_console_of_four_cards_is_that_of_the_documents(job):
    """Byte for byte; the first process' output follows. The log lines are on stderr, as Paddle has them."""
    job.script("train.py", "import os\nif os.environ['RANK'] == '0': print(os.environ['PADDLE_TRAINER_ENDPOINTS'])")
    done = job.launch("train.py", env={"CUDA_VISIBLE_DEVICES": "0,1,2,3"})
    assert done.returncode == 0, done.stderr
    endpoints = done.stdout.splitlines()[-1]
    assert done.stdout == f"""\
-----------  Configuration Arguments -----------
gpus: 0,1,2,3
ips: 127.0.0.1
log_dir: log
server_num: None
servers:
training_script: train.py
training_script_args: []
worker_num: None
workers:
------------------------------------------------
{"=" * 87}
            Distributed Envs              Value
{"-" * 87}
PADDLE_CURRENT_ENDPOINT                   {endpoints.split(",")[0]}
PADDLE_TRAINERS_NUM                       4
FLAGS_selected_gpus                       0
PADDLE_TRAINER_ENDPOINTS                  ... {endpoints[-41:]}
PADDLE_TRAINER_ID                         0
{"=" * 87}
{endpoints}
"""
    messages = [line for line in done.stderr.splitlines() if line.startswith("INFO ")]
    greeting = "Local start 4 processes. First process distributed environment info (Only For Debug):"
    assert re.fullmatch(r"INFO \d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \S+\] " + re.escape(greeting), messages[0])


def test_the_console_greets_each_role(job):
    job.script("finds.py", TOGETHER)
    done = job.launch("--server_num", 2, "--worker_num", 1, "--heter_worker_num", 1, "finds.py")
    assert done.returncode == 0, done.stderr
    messages = [line.partition("] ")[2] for line in done.stderr.splitlines() if line.startswith("INFO ")]
    greeting = "Local {} start {} processes. First process distributed environment info (Only For Debug):"
    assert messages == [greeting.format("server", 2), greeting.format("worker", 1), greeting.format("heter_worker", 1),
                        "Please check servers, workers and heter_worker logs in log/workerlog.*, log/serverlog.* and "
                        "log/heterlog.*"]
    tables = done.stdout.split("            Distributed Envs              Value\n")[1:]
    for table, role, index in zip(tables, ["PSERVER", "TRAINER", "HETER_TRAINER"], [0, 0, 0]):
        shown = dict(line.split(None, 1) for line in table.splitlines() if " " in line)
        env = environment_of(job, role, index)
        for name in ("TRAINING_ROLE", "PADDLE_PORT", "POD_IP", "PADDLE_TRAINERS_NUM", "PADDLE_GLOO_HTTP_ENDPOINT",
                     "PADDLE_TRAINER_ENDPOINTS"):
            assert shown[name] == env[name], name
        assert env["PADDLE_LOG_DIR"] == str(job.folder / "log") and re.fullmatch("[a-z]{6}", env["POD_NAME"])


def test_collective_with_several_cards_a_process(job):
    _, envs = run_collective(job, "--gpus", "7,5,6,4", "--nproc_per_node", 2, env={"CUDA_VISIBLE_DEVICES": "4,5,6,7"})
    for rank, env in enumerate(envs):
        own = ["0,1", "2,3"][rank]
        check(env, {"FLAGS_selected_gpus": own, "FLAGS_selected_accelerators": own, "PADDLE_LOCAL_DEVICE_IDS": own,
                    "PADDLE_WORLD_DEVICE_IDS": "0:1,2:3", "CUDA_VISIBLE_DEVICES": "7,5,6,4"})


def test_visible_keep_is_paddles_way(job):
    """--gpus 4,6 with 4,5,6,7 visible: the list stays, the positions in it are 0 and 2."""
    _, envs = run_collective(job, "--visible", "keep", "--gpus", "4,6", env={"CUDA_VISIBLE_DEVICES": "4,5,6,7"})
    for env, position in zip(envs, "02"):
        check(env, {"FLAGS_selected_gpus": position, "CUDA_VISIBLE_DEVICES": "4,5,6,7", "PADDLE_WORLD_DEVICE_IDS": "0,2"})


def test_backend_gloo_leaves_the_cards_alone(job):
    _, envs = run_collective(job, "--backend", "gloo", env={"CUDA_VISIBLE_DEVICES": "0,1"}, ranks=1)
    check(envs[0], {"PADDLE_TRAINERS_NUM": "1", "FLAGS_selected_gpus": None, "PADDLE_DISTRI_BACKEND": "gloo",
                    "CUDA_VISIBLE_DEVICES": "0,1"})


def test_handbook(job):
    """PADDLE_NUM_TRAINERS=<nodes> ... --gpus <number>: set in every process, logs in ./mylog."""
    variables = {"PADDLE_NUM_TRAINERS": "1", "CUDA_VISIBLE_DEVICES": "3,1,2"}
    done, envs = run_collective(job, "--gpus", 2, env=variables)
    for rank, env in enumerate(envs):
        check(env, {"PADDLE_NUM_TRAINERS": "1", "PADDLE_TRAINER_ID": str(rank), "PADDLE_TRAINERS_NUM": "2",
                    "CUDA_VISIBLE_DEVICES": "3,1", "FLAGS_selected_gpus": str(rank)})
    assert logs(job, "mylog") == ["endpoints.log", "hostfile", "workerlog.0", "workerlog.1"]
    assert not (job.folder / "log").exists()


def test_rpc(job):
    _, envs = run_collective(job, "--run_mode", "rpc", "--nproc_per_node", 2)
    for rank, env in enumerate(envs):
        check(env, {"PADDLE_TRAINER_ID": str(rank), "PADDLE_TRAINERS_NUM": "2",
                    "PADDLE_WORKER_ENDPOINT": env["PADDLE_CURRENT_ENDPOINT"],
                    "PADDLE_MASTER_ENDPOINT": envs[0]["PADDLE_MASTER"]})
    assert envs[0]["PADDLE_MASTER_ENDPOINT"] not in envs[0]["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert {"workerlog.0", "workerlog.1"} <= set(logs(job))


# --- parameter server: what processes are told ----------------------------------------------------------------------


def run_servers(job, *options, servers, workers, heter=0, env=None):
    job.script("finds.py", TOGETHER)
    done = job.launch(*options, "finds.py", env=env)
    assert done.returncode == 0, done.stderr
    assert job.left_behind() == []
    envs = {"PSERVER": [environment_of(job, "PSERVER", i) for i in range(servers)],
            "TRAINER": [environment_of(job, "TRAINER", i) for i in range(workers)],
            "HETER_TRAINER": [environment_of(job, "HETER_TRAINER", i) for i in range(heter)]}
    addresses = {role: [f"{e['POD_IP']}:{e['PADDLE_PORT']}" for e in members] for role, members in envs.items()}
    everybody = [env for members in envs.values() for env in members]
    common = {"PADDLE_PSERVERS_IP_PORT_LIST": ",".join(addresses["PSERVER"]),
              "PADDLE_TRAINER_ENDPOINTS": ",".join(addresses["TRAINER"]), "PADDLE_TRAINERS_NUM": str(workers),
              "PADDLE_WITH_GLOO": "0", "PADDLE_GLOO_RENDEZVOUS": "3", "PADDLE_NNODES": "1",
              # of collective jobs
              "PADDLE_CURRENT_ENDPOINT": None, "PADDLE_WORLD_DEVICE_IDS": None, "PADDLE_GLOBAL_RANK": None,
              "FLAGS_selected_xpus": None}
    for role, members in envs.items():
        for index, env in enumerate(members):
            check(env, {**common, "TRAINING_ROLE": role, "PADDLE_ROLE": role,
                        "PADDLE_TRAINER_ID": str(index) if role == "TRAINER" else None})
    gloo = {env["PADDLE_GLOO_HTTP_ENDPOINT"] for env in everybody}
    assert len(gloo) == 1 and len({env["PADDLE_GLOO_FS_PATH"] for env in everybody}) == 1
    assert gloo.pop().startswith(envs["PSERVER"][0]["POD_IP"] + ":"), "on the first server"
    everywhere = [address for members in addresses.values() for address in members]
    assert len(set(everywhere) | {everybody[0]["PADDLE_GLOO_HTTP_ENDPOINT"]}) == len(everywhere) + 1
    return done, envs, addresses


def test_parameter_server_on_cpus(job):
    done, envs, _ = run_servers(job, "--server_num=1", "--worker_num=2", servers=1, workers=2)
    no_stages = {"PADDLE_HETER_TRAINER_IP_PORT_LIST": "", "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST": None,
                 "STAGE_ID": None, "STAGE_NUM": None, "HETER_DEVICE_TYPE": None}
    for env in envs["PSERVER"] + envs["TRAINER"]:
        check(env, {**no_stages, "FLAGS_selected_gpus": None, "CUDA_VISIBLE_DEVICES": ""})
    assert logs(job) == ["hostfile", "serverlog.0", "workerlog.0", "workerlog.1"], "endpoints.log is of collective jobs"
    # On a busy machine the launcher may be sooner than the server's own end.
    of_server = (job.folder / "log/serverlog.0").read_text().removesuffix("dtrain: stopped by SIGTERM because the others are done\n")
    assert of_server == "PSERVER 0\n" and job.log(1) == "TRAINER 1\n"
    assert done.stdout.endswith("TRAINER 0\n"), "the console shows worker 0"
    assert "PSERVER 0" not in done.stdout and "TRAINER 1" not in done.stdout


def test_parameter_server_with_cards(job):
    """Positions are not ids: Paddle would give cards 0 and 1 here."""
    _, envs, _ = run_servers(job, "--server_num=1", "--worker_num=2", servers=1, workers=2,
                             env={"CUDA_VISIBLE_DEVICES": "2,3"})
    check(envs["PSERVER"][0], {"CUDA_VISIBLE_DEVICES": "", "FLAGS_selected_gpus": None})
    for env, card in zip(envs["TRAINER"], "23"):
        check(env, {"CUDA_VISIBLE_DEVICES": card, "FLAGS_selected_gpus": "0"})


def test_parameter_server_with_one_card_for_all(job):
    _, envs, _ = run_servers(job, "--server_num=2", "--worker_num=2", servers=2, workers=2,
                             env={"CUDA_VISIBLE_DEVICES": "5"})
    for env in envs["PSERVER"]:
        check(env, {"CUDA_VISIBLE_DEVICES": "", "FLAGS_selected_gpus": None})
    for env in envs["TRAINER"]:
        check(env, {"CUDA_VISIBLE_DEVICES": "5", "FLAGS_selected_gpus": "0"})


def test_parameter_server_with_cards_for_servers_too(job):
    _, envs, _ = run_servers(job, "--server_num=2", "--worker_num=2", "--server_device=gpu", servers=2, workers=2,
                             env={"CUDA_VISIBLE_DEVICES": "2,3,4"})
    for env, card in zip(envs["PSERVER"] + envs["TRAINER"], "2342"):
        check(env, {"CUDA_VISIBLE_DEVICES": card, "FLAGS_selected_gpus": "0"})


def test_parameter_server_from_lists(job):
    with_free_ports = free_ports(3)
    servers, first, second = (f"127.0.0.1:{port}" for port in with_free_ports)
    _, _, addresses = run_servers(job, "--servers", servers, "--workers", f"{second},{first}", servers=1, workers=2)
    assert addresses["PSERVER"] == [servers] and addresses["TRAINER"] == [second, first]


def test_parameter_server_takes_nothing_over_from_a_job_around_it(job):
    outer = {"PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST": "1.1.1.1:1", "STAGE_ID": "2", "TRAINING_ROLE": "TRAINER",
             "PADDLE_TRAINER_ID": "7", "PADDLE_PORT": "1", "DTRAIN_JOB_TOKEN": "0123"}
    _, envs, _ = run_servers(job, "--server_num=1", "--worker_num=1", servers=1, workers=1, env=outer)
    for env in envs["PSERVER"] + envs["TRAINER"]:
        check(env, {"PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST": None, "STAGE_ID": None})


def test_heterogeneous_workers(job):
    """Two servers, two workers, two heterogeneous ones on cards 0 and 1: the documents' example."""
    _, envs, addresses = run_servers(job, "--server_num=2", "--worker_num=2", "--heter_worker_num=2", servers=2, workers=2,
                                     heter=2, env={"CUDA_VISIBLE_DEVICES": "0,1"})
    heter = ",".join(addresses["HETER_TRAINER"])
    lists = {"PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST": heter, "PADDLE_HETER_TRAINER_IP_PORT_LIST": heter}
    stages = {**lists, "STAGE_NUM": "2", "PADDLE_STAGE_TRAINERS_NUM": "[2, 2]"}
    for env in envs["PSERVER"]:
        check(env, {**lists, "STAGE_ID": None, "HETER_DEVICE_TYPE": None, "CUDA_VISIBLE_DEVICES": "",
                    "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST": None})
    for env in envs["TRAINER"]:
        check(env, {**stages, "STAGE_ID": "1", "HETER_DEVICE_TYPE": "cpu", "CUDA_VISIBLE_DEVICES": "",
                    "FLAGS_selected_gpus": None, "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST": "",
                    "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST": heter})
    for card, env in zip("01", envs["HETER_TRAINER"]):
        check(env, {**stages, "STAGE_ID": "2", "HETER_DEVICE_TYPE": "gpu", "CUDA_VISIBLE_DEVICES": card,
                    "FLAGS_selected_gpus": "0",
                    "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST": ",".join(addresses["TRAINER"]),
                    "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST": ""})
    assert logs(job) == ["heterlog.0", "heterlog.1", "hostfile", "serverlog.0", "serverlog.1", "workerlog.0", "workerlog.1"]


def test_heterogeneous_stages(job):
    _, envs, addresses = run_servers(job, "--server_num=1", "--worker_num=1", "--heter_worker_num=2;1",
                                     "--heter_devices=gpu;cpu", servers=1, workers=1, heter=3,
                                     env={"CUDA_VISIBLE_DEVICES": "4,5"})
    second, third = ",".join(addresses["HETER_TRAINER"][:2]), addresses["HETER_TRAINER"][2]
    check(envs["TRAINER"][0], {"STAGE_ID": "1", "STAGE_NUM": "3", "PADDLE_STAGE_TRAINERS_NUM": "[1, 2, 1]",
                               "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST": second})
    for card, env in zip("45", envs["HETER_TRAINER"]):
        check(env, {"STAGE_ID": "2", "HETER_DEVICE_TYPE": "gpu", "CUDA_VISIBLE_DEVICES": card,
                    "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST": addresses["TRAINER"][0],
                    "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST": third})
    check(envs["HETER_TRAINER"][2], {"STAGE_ID": "3", "HETER_DEVICE_TYPE": "cpu", "CUDA_VISIBLE_DEVICES": "",
                                     "FLAGS_selected_gpus": None, "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST": "",
                                     "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST": second})


# --- parameter server: life -----------------------------------------------------------------------------------------


def run_lives(job, *options, **lives):
    """`lives`: what each role does; options come behind --server_num and --worker_num."""
    code = LIVES + "".join(f"if role == '{role}':\n    {life}\n" for role, life in lives.items())
    job.script("lives.py", code)
    done = job.launch("--server_num", 2, "--worker_num", 2, "--grace", "0.5", *options, "lives.py")
    assert job.left_behind() == []
    return done


@pytest.mark.parametrize("server", ["for_ever()", "for_ever(ignoring=True)"])
def test_servers_are_stopped_when_the_workers_are_done(job, server):
    done = run_lives(job, PSERVER=server, TRAINER="when(f'PSERVER.{index}.json')")
    assert done.returncode == 0, done.stderr
    assert "ABORT" not in done.stderr


def test_heterogeneous_workers_are_stopped_when_the_workers_are_done(job):
    done = run_lives(job, "--heter_worker_num", 1, PSERVER="for_ever()", HETER_TRAINER="for_ever(ignoring=True)",
                     TRAINER="when('HETER_TRAINER.0.json')")
    assert done.returncode == 0, done.stderr


def test_workers_are_waited_for_one_and_all(job):
    """The first that is done ends nothing."""
    done = run_lives(job, PSERVER="for_ever()",
                     TRAINER="index == 0 or (when('TRAINER.0.json'), time.sleep(1), open('late', 'w').close())")
    assert done.returncode == 0, done.stderr
    assert (job.folder / "late").exists()


def test_a_failing_worker_ends_the_job_with_its_status(job):
    done = run_lives(job, PSERVER="for_ever()", TRAINER="for_ever() if index == 0 else sys.exit(9)")
    assert done.returncode == 9, done.stderr
    assert "exit code 9" in done.stderr and f"{job.folder}/log/workerlog.1" in done.stderr


def test_a_failing_server_ends_the_job_with_its_status(job):
    done = run_lives(job, PSERVER="for_ever() if index == 1 else sys.exit(6)", TRAINER="for_ever(ignoring=True)")
    assert done.returncode == 6, done.stderr
    assert "exit code 6" in done.stderr and f"{job.folder}/log/serverlog.0" in done.stderr


def test_a_failing_heterogeneous_worker_ends_the_job_with_its_status(job):
    done = run_lives(job, "--heter_worker_num", 1, PSERVER="for_ever()", TRAINER="for_ever()", HETER_TRAINER="sys.exit(4)")
    assert done.returncode == 4, done.stderr
    assert "exit code 4" in done.stderr and f"{job.folder}/log/heterlog.0" in done.stderr


def test_a_server_that_is_done_early_ends_nothing(job):
    done = run_lives(job, PSERVER="for_ever() if index == 1 else sys.exit(0)",
                     TRAINER="(when('PSERVER.0.json'), time.sleep(1), open(f'late.{index}', 'w').close())")
    assert done.returncode == 0, done.stderr
    assert (job.folder / "late.0").exists() and (job.folder / "late.1").exists()


def test_servers_that_end_by_themselves_are_no_failure(job):
    done = run_lives(job, PSERVER="sys.exit(0)", TRAINER="sys.exit(0)")
    assert done.returncode == 0, done.stderr


# --- ports ----------------------------------------------------------------------------------------------------------


def taken_port():
    """A socket that listens on a port whose lower neighbour is free."""
    while True:
        holder = socket.create_server(("127.0.0.1", free_ports(1)[0]))
        try:
            socket.create_server(("", holder.getsockname()[1] - 1)).close()
            return holder
        except OSError:
            holder.close()


@pytest.mark.parametrize("options, remedy", [
    (["--nproc_per_node", "1", "--start_port", "{taken}"], "with --start_port"),
    (["--nproc_per_node", "2", "--start_port", "{before}"], "with --start_port"),
    (["--server_num", "1", "--worker_num", "1", "--start_port", "{taken}"], "with --start_port"),
    (["--server_num", "1", "--worker_num", "1", "--http_port", "{taken}"], "in --http_port"),
    (["--servers", "127.0.0.1:{taken}", "--workers", "127.0.0.1:{free}"], "in --servers"),
    (["--servers", "127.0.0.1:{free}", "--workers", "127.0.0.1:{taken}"], "in --workers"),
    (["--servers", "127.0.0.1:{free}", "--worker_num", "1", "--start_port", "{before}"], "with --start_port"),
    (["--servers", "127.0.0.1:{free}", "--worker_num", "1", "--heter_workers", "127.0.0.1:{taken}"], "in --heter_workers"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_a_port_that_is_taken_is_named_with_its_holder_before_anything_starts(job, options, remedy):
    """The advice names the option that the port stands in; a port that follows from others is --start_port's."""
    job.script("finds.py", FINDS_ITSELF)
    with taken_port() as holder:
        taken = holder.getsockname()[1]
        numbers = {"taken": taken, "before": taken - 1, "free": free_ports(1)[0]}
        done = job.launch(*(option.format(**numbers) for option in options), "finds.py")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("dtrain-launch: ") and done.stderr.count("\n") == 1, done.stderr
    assert f"TCP port {taken} " in done.stderr and f"held by pid {os.getpid()} (" in done.stderr
    assert done.stderr.endswith(f"; choose another {remedy}\n"), done.stderr
    assert sorted(path.name for path in job.folder.iterdir()) == ["finds.py"]


def test_on_paddle_cloud_a_process_of_a_ps_job_runs_once_with_the_platforms_variables(job):
    """Oracle: the reference's parameter-server mode on PaddleCloud."""
    job.script("ps.py", "import os, sys\nprint(os.environ['TRAINING_ROLE'], os.environ.get('RANK'), sys.argv[1:])\nsys.exit(5)")
    cloud = {"PADDLE_TRAINERS": "10.0.0.1,10.0.0.2", "POD_IP": "10.0.0.2", "PADDLE_TRAINER_ID": "1",
             "TRAINER_PORTS_NUM": "1", "PADDLE_TRAINERS_NUM": "2", "TRAINING_ROLE": "PSERVER"}
    done = job.launch("--server_num", 1, "--worker_num", 2, "ps.py", "--x", env=cloud)
    assert done.returncode == 5 and done.stdout == "PSERVER None ['--x']\n"
    assert not (job.folder / "log").exists(), "the platform keeps the output"
    shown = job.launch("--run_mode", "ps", "--dry-run", "ps.py", env=cloud)
    assert shown.returncode == 0 and shown.stdout == "python3 -u ps.py\n"
