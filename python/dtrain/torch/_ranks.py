# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Which communicator carries a group of torch.distributed, and how its ranks find each other."""
from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import platform
import zlib
from ctypes import byref, c_int
from typing import Any, Dict, List, Optional

from .. import _session
from .._errors import UsageError
from .._library import library

_MAX_TAG = 32767
_NAME_BYTES = 128

#: By rank of torch's default group: the rank in the communicator of the job.
_job_ranks: Optional[List[int]] = None
#: How often this process has met others in a group, by name: the store keeps what was said before.
_meetings: Dict[str, int] = {}
#: That of torch's default group, also when it was destroyed: a rank that makes the group anew may connect to the store before rank 0 has
#: left it, and would lose it then. (torch's rendezvous takes the one that listens to the same port in this process.)
_store: Any = None


def started_by_mpi() -> bool:
    """True if this process is a rank that MPI knows, and not a process that such a rank started."""
    environment = os.environ
    by_torchrun = "TORCHELASTIC_RUN_ID" in environment and (
        "DTRAIN_JOB_TOKEN" not in environment or environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True")
    if by_torchrun or multiprocessing.parent_process() is not None:
        return False
    return _session.init().size > 1


def _memory_of_node() -> str:
    """The same for processes that share memory: one kernel, one /dev/shm."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    memory = os.stat("/dev/shm")
    return f"{boot} {memory.st_dev}"


def answer_to(reports: List[Dict[str, Any]], name: str) -> Dict[str, str]:
    """What rank 0 tells the others: the name under which they meet, or why they cannot. Pure."""
    first = reports[0]
    elsewhere = sorted({report["node"] for report in reports if report["memory"] != first["memory"]})
    if elsewhere:
        return {"error": f"the ranks are on several nodes ({first['node']}, {', '.join(elsewhere)}), and torchrun and spawn() "
                         "start none that MPI knows: start the job with dtrain-run in place of torchrun, or with mpirun or "
                         "srun"}
    other = [report for report in reports if report["version"] != first["version"]]
    if other:
        return {"error": f"rank 0 runs dtrain {first['version']}, and another one {other[0]['version']}: install one version "
                         "everywhere"}
    return {"name": name}


def store_prefix(group: str) -> str:
    """Where the ranks of a group write this time: groups that are made anew have the same name. Once for each group."""
    _meetings[group] = _meetings.get(group, 0) + 1
    return f"dtrain/{_meetings[group]}"


def _met_through(store: Any, prefix: str, rank: int, size: int, timeout: float) -> int:
    """A communicator of ranks of one node, which is named in torch's store."""
    mine = {"memory": _memory_of_node(), "node": platform.node(), "version": library().version}
    if rank == 0:
        reports = [mine] + [json.loads(store.get(f"{prefix}/{other}")) for other in range(1, size)]
        name = ctypes.create_string_buffer(_NAME_BYTES)
        if library().node_comm_name(name, _NAME_BYTES):
            library().raise_last_error()
        answer = answer_to(reports, name.value.decode())
        store.set(f"{prefix}/answer", json.dumps(answer))
    else:
        store.set(f"{prefix}/{rank}", json.dumps(mine))
        answer = json.loads(store.get(f"{prefix}/answer"))
    if "error" in answer:
        raise UsageError(f"init_process_group(\"dtrain\"): {answer['error']}")
    handle = c_int()
    if library().node_comm(answer["name"].encode(), rank, size, timeout, byref(handle)):
        library().raise_last_error()
    return handle.value


def _ranks_of_job(store: Any, prefix: str, rank: int, size: int) -> List[int]:
    """By rank of the default group: the rank of the job."""
    world = _session.world()
    mine = world.rank
    if size == world.size:
        by_rank = [0] * size
        for job_rank, torch_rank in enumerate(world.all_gather_object(rank)):
            by_rank[torch_rank] = job_rank
        return by_rank
    store.set(f"{prefix}/{rank}", str(mine))
    return [mine if other == rank else int(store.get(f"{prefix}/{other}")) for other in range(size)]


def communicator_of(options: Any, prefix: str) -> int:
    """The communicator (dtrain_comm) of a group. Collective over the group.
    @param options torch's _DistributedBackendOptions @param prefix store_prefix()"""
    global _job_ranks, _store  # pylint: disable=global-statement
    rank, size, store = options.group_rank, options.group_size, options.store
    timeout = options.timeout.total_seconds()
    if not options.global_ranks_in_group:
        _store = store
    if not started_by_mpi():
        return _met_through(store, prefix, rank, size, timeout)
    world = _session.world()
    if size > world.size:
        raise UsageError(f"init_process_group(\"dtrain\"): the group has {size} ranks, and the job has {world.size}: start it "
                         f"with -n {size}, or leave world_size and rank to the launcher")
    members = list(options.global_ranks_in_group)
    if not members or _job_ranks is None:
        _job_ranks = _ranks_of_job(store, prefix, rank, size)
        ranks = _job_ranks
    else:
        ranks = [_job_ranks[member] for member in members]
    tag = zlib.crc32(str(options.group_id).encode()) % _MAX_TAG
    group = c_int()
    if library().comm_of(0, (c_int * size)(*ranks), size, tag, byref(group)):
        library().raise_last_error()
    return group.value
