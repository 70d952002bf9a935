# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Command lines of Paddle's documents, and the plan that each gets from dtrain-launch --dry-run=json.

The oracle of each row stands in the row: data/plans.toml for what is planned, data/refusals.toml for what is not.

A row has `line`, typed behind dtrain-launch in a folder with a train.py; `machine`, the topology it is planned for;
`env`, further variables; `files` to lie in the folder. It expects
  ranks           "HOST sees CUDA_VISIBLE_DEVICES" for each node, then a line for each of its ranks:
                  rank, role, number in the role, port, cards or CPU, cores, "shared" when other ranks have them too.
                  Port :* is one that the kernel chose, :p, :p+1 ... count from one of the job's own in 10000..29999
  script          arguments behind train.py
  also, absent    further values of the plan by their path; paths that it must not have
  notices         one text for each warning on stderr, in their order; no other word may be there
  warnings        one text for each warning in the plan
  gloo            address of Gloo's rendezvous
  worker_options  words that stand in the workers' command
  hosts           the same plan is wanted from each of these as --host, in this order of nodes
  only            the only node that is compared, where the others are taken to be like it
What holds for every plan is checked for each: see check_what_always_holds.
"""
import itertools
import json
import pathlib
import re
import shlex
import time
import tomllib

import pytest

from conftest import LAUNCH, run

DATA = pathlib.Path(__file__).parent / "data"
ROLES = {"trainer": "workerlog", "server": "serverlog", "worker": "workerlog", "heter_worker": "heterlog"}
LIST_OF_ROLE = {"trainer": "DTRAIN_ENDPOINTS", "server": "DTRAIN_SERVERS", "worker": "DTRAIN_WORKERS",
                "heter_worker": "DTRAIN_HETER_WORKERS"}
COLUMNS_OF_PLAN = {"title", "oracle", "machine", "line", "env", "files", "ranks", "script", "also", "absent", "notices",
                   "warnings", "gloo", "worker_options", "hosts", "only"}
COLUMNS_OF_REFUSAL = {"title", "oracle", "machine", "line", "env", "files", "says", "notices"}


def rows(file, table):
    return [pytest.param(row, id=row["title"]) for row in tomllib.loads((DATA / file).read_text())[table]]


PLANS = rows("plans.toml", "plan")
REFUSALS = rows("refusals.toml", "refused")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text("print('started')\n")
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    return tmp_path


def launch(folder, row, *before):
    for name, text in row.get("files", {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    variables = {"HOME": folder, "XDG_CONFIG_HOME": None, "HWLOC_XMLFILE": DATA / (row["machine"] + ".xml"),
                 **row.get("env", {})}
    return run([LAUNCH, *before, *shlex.split(row["line"])], folder, **variables)


def entries(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def plan_of(folder, row, *before, timeout=120.0):
    """The plan, once nobody else has the ports that the row names."""
    files = set(entries(folder)) | set(row.get("files", {})) | {str(pathlib.Path(f).parent) for f in row.get("files", {})}
    deadline = time.monotonic() + timeout
    while True:
        done = launch(folder, row, "--dry-run=json", *before)
        if "Address already in use" not in done.stderr or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    assert done.returncode == 0, done.stderr
    assert set(entries(folder)) - {"."} == files - {"."}, "a dry run writes nothing"
    notices = done.stderr.splitlines()
    wanted = row.get("notices", [])
    assert len(notices) == len(wanted) and all(w in n for w, n in zip(wanted, notices)), done.stderr
    return json.loads(done.stdout)


def ranks_of(plan):
    return sorted((rank for node in plan["nodes"] for rank in node["ranks"]), key=lambda rank: rank["rank"])


def lines_of(plan, only=None):
    """The plan as the rows write it."""
    out = []
    for node in plan["nodes"]:
        if only and node["host"] != only:
            continue
        out.append(f"{node['host']} sees {node['cuda_visible_devices'] or '-'}")
        for rank in node["ranks"]:
            port = rank["endpoint"].rpartition(":")[2]
            device = "GPU " + ",".join(rank["gpus"]) if rank["gpus"] else "CPU"
            shared = " shared" if rank["shared"] else ""
            out.append(f"{rank['rank']} {rank['role']} {rank['index']} :{port} {device} cores {rank['cpus']}{shared}")
    return out


def with_ports(expected, got):
    """The expected lines with their ports filled in; those of the kernel's choice from what was planned."""
    out, base = [], None
    for line, planned in itertools.zip_longest(expected, got, fillvalue=""):
        port = re.search(r" :(\d+) ", planned)
        if port and " :* " in line:
            line = line.replace(":*", f":{port[1]}")
        elif port and " :p" in line:
            base = base or int(port[1])
            assert 10000 <= base < 30000
            line = re.sub(r":p(?:\+(\d+))?", lambda match: f":{base + int(match[1] or 0)}", line)
        if line:
            out.append(line)
    return out


def name_for_mpirun(number, host):
    """Open MPI 4.1 refuses IPv6 addresses. Node 0 is this machine here, and the others get addresses that nobody has."""
    return host if ":" not in host else "127.0.0.1" if number == 0 else f"127.1.0.{number + 1}"


def at(plan, path):
    """The value at "environment.DTRAIN_BACKEND"; KeyError when there is none."""
    name, _, rest = path.partition(".")
    return at(plan[name], rest) if rest else plan[name]


def in_parts(command):
    """mpirun's command in its parts: [(ranks, where they are told to run or None, the rest)]."""
    parts, host = [], None
    for number, word in enumerate(command):
        if word == "--host":
            host = command[number + 1].rpartition(":")[0]
        if word == "-np":
            parts.append((int(command[number + 1]), host, []))
            host = None
        if parts:
            parts[-1][2].append(word)
    return parts


def of_nodes(text, count):
    """A variable with a field for each node, nodes alike in one: "a|2*b"."""
    fields = []
    for part in text.split("|"):
        times, star, field = part.partition("*")
        fields += [field] * int(times) if star else [part]
    assert len(fields) == count
    return fields


def check_what_always_holds(plan):
    ranks = ranks_of(plan)
    environment = plan["environment"]
    assert [rank["rank"] for rank in ranks] == list(range(plan["size"]))
    assert plan["bind"] is False, "the cores of another machine are not this one's"
    for node in plan["nodes"]:
        numbers = [rank["rank"] for rank in node["ranks"]]
        assert numbers == sorted(numbers) and [rank["local_rank"] for rank in node["ranks"]] == list(range(len(numbers)))
        visible = node["cuda_visible_devices"].split(",")
        for rank in node["ranks"]:
            host = f"[{node['host']}]" if ":" in node["host"] else node["host"]
            assert rank["endpoint"].startswith(host + ":")
            assert [visible[position] for position in rank["devices"]] == rank["gpus"], "positions name the cards"
            assert rank["log"] == f"{ROLES[rank['role']]}.{rank['index']}"
    # Every rank finds itself in the lists that all ranks get.
    for role, members in itertools.groupby(ranks, key=lambda rank: rank["role"]):
        members = list(members)
        assert [rank["index"] for rank in members] == list(range(len(members)))
        assert re.split("[,;]", environment[LIST_OF_ROLE[role]]) == [rank["endpoint"] for rank in members]
    # Nobody's port is somebody else's.
    masters = [plan["paddle_master"], f"{plan['master_addr']}:{plan['master_port']}"]
    addresses = [rank["endpoint"] for rank in ranks] + masters
    if environment.get("DTRAIN_GLOO_ENDPOINT"):
        addresses.append(environment["DTRAIN_GLOO_ENDPOINT"])
    assert len(set(addresses)) == len(addresses)
    assert all(1 <= int(address.rpartition(":")[2]) <= 65535 for address in addresses)
    # The command starts these ranks, in this order, and nothing else.
    parts = in_parts(plan["command"])
    node_of_rank = {rank["rank"]: node["host"] for node in plan["nodes"] for rank in node["ranks"]}
    in_order = iter([node_of_rank[rank["rank"]] for rank in ranks] if "seq:OVERSUBSCRIBE" in plan["command"] else
                    [node["host"] for node in plan["nodes"] for _ in node["ranks"]])
    started = [(host or next(in_order), words) for count, host, words in parts for _ in range(count)]
    assert [host for host, _ in started] == [node_of_rank[rank["rank"]] for rank in ranks]
    for rank, (_, words) in zip(ranks, started):
        assert words[words.index("--") + 1:][:len(plan["program"])] == plan["program"]
    # mpirun starts the ranks of one node itself, without a remote shell.
    hosts = ["localhost"] if len(plan["nodes"]) == 1 else [name_for_mpirun(number, node["host"]) for number, node in
                                                           enumerate(plan["nodes"])]
    slots = [f"{host} slots={len(node['ranks'])}" for host, node in zip(hosts, plan["nodes"])]
    name_of = {node["host"]: host for host, node in zip(hosts, plan["nodes"])}
    by_rank = [name_of[node_of_rank[rank["rank"]]] for rank in ranks]
    is_in_order = by_rank == list(itertools.chain.from_iterable(
        [host] * len(node["ranks"]) for host, node in zip(hosts, plan["nodes"])))
    assert plan["hostfile"].splitlines() == (slots if is_in_order else by_rank)
    # The workers of each node get what is planned for them, and see what the plan says.
    fields = {"DTRAIN_CPUS": "cpus", "DTRAIN_GPUS": "devices", "DTRAIN_NUMA": "numa_nodes", "DTRAIN_THREADS": "threads"}
    for variable, field in fields.items():
        for node, text in zip(plan["nodes"], of_nodes(environment[variable], len(plan["nodes"]))):
            wanted = [",".join(map(str, rank[field])) if isinstance(rank[field], list) else str(rank[field])
                      for rank in node["ranks"]]
            assert text.split(";") == wanted
    if "DTRAIN_VISIBLE" in environment:
        assert of_nodes(environment["DTRAIN_VISIBLE"], len(plan["nodes"])) == [
            node["cuda_visible_devices"] for node in plan["nodes"]]
    if "DTRAIN_NODES_OF_RANKS" in environment:
        assert [plan["nodes"][int(node)]["host"] for node in of_nodes(environment["DTRAIN_NODES_OF_RANKS"], len(ranks))] \
            == [node_of_rank[rank["rank"]] for rank in ranks]


def check_row(plan, row, folder):
    wanted = [" ".join(line.split()) for line in row["ranks"].strip().splitlines()]
    got = lines_of(plan, row.get("only"))
    assert got == with_ports(wanted, got)
    expected = {"program": ["python3", "-u", "train.py", *row.get("script", [])], **row.get("also", {})}
    for path, value in expected.items():
        value = value.replace("{folder}", str(folder)) if isinstance(value, str) else value
        assert at(plan, path) == (None if value == "none" and path == "own_node" else value), path
    for path in row.get("absent", []):
        with pytest.raises(KeyError):
            at(plan, path)
    warnings = row.get("warnings", [])
    assert len(plan["warnings"]) == len(warnings) and all(w in p for w, p in zip(warnings, plan["warnings"]))
    if "gloo" in row:
        assert plan["environment"]["DTRAIN_GLOO_ENDPOINT"] == row["gloo"]
    for _, _, words in in_parts(plan["command"]):
        assert " ".join(row.get("worker_options", [])) in " ".join(words)


@pytest.mark.parametrize("row", PLANS)
def test_plan(folder, row):
    assert set(row) <= COLUMNS_OF_PLAN and row["oracle"]
    if "hosts" not in row:
        plan = plan_of(folder, row)
        check_row(plan, row, folder)
        check_what_always_holds(plan)
    for number, host in enumerate(row.get("hosts", [])):
        plan = plan_of(folder, row, "--host", host)
        assert plan["own_node"] == number
        check_row(plan, row, folder)
        check_what_always_holds(plan)


@pytest.mark.parametrize("row", REFUSALS)
def test_refusal(folder, row):
    """One line that names the option and its value, status 2, and nothing was begun: without --dry-run."""
    assert set(row) <= COLUMNS_OF_REFUSAL and row["oracle"]
    files = set(entries(folder))
    done = launch(folder, row)
    assert done.returncode == 2 and done.stdout == "", done.stderr
    assert set(entries(folder)) - set(row.get("files", {})) == files
    *notices, line = done.stderr.splitlines()
    wanted = row.get("notices", [])
    assert len(notices) == len(wanted) and all(w in n for w, n in zip(wanted, notices)), done.stderr
    assert line.startswith("dtrain-launch: ")
    missing = [text for text in row["says"] if text not in line]
    assert not missing, line


def test_the_tables_are_whole():
    """As many rows as the issue asks for, each with a title of its own."""
    titles = [row.values[0]["title"] for row in PLANS + REFUSALS]
    assert len(PLANS) >= 120 and len(REFUSALS) >= 40 and len(set(titles)) == len(titles)
