# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""init_method="dtrain://": ranks of MPI need neither MASTER_ADDR nor RANK."""
from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any, Iterator, Tuple

import torch.distributed as dist
from torch.distributed.rendezvous import register_rendezvous_handler

from .. import _session


def _own_address() -> str:
    """The address of this node that its name has for others; "127.0.0.1" if it has none."""
    try:
        return str(socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return "127.0.0.1"


def _rendezvous(_url: str, timeout: timedelta = timedelta(minutes=30), **_others: Any) -> Iterator[Tuple[Any, int, int]]:
    """A store on rank 0, of which MPI tells the others. Collective over the job."""
    world = _session.init()
    address = "127.0.0.1" if world.nodes == 1 else _own_address()
    store = None
    if world.rank == 0:
        store = dist.TCPStore(address, 0, world.size, True, timeout, wait_for_workers=False)
    host, port = world.broadcast_object((address, store.port) if store is not None else None)
    if store is None:
        store = dist.TCPStore(host, port, world.size, False, timeout, wait_for_workers=False)
    yield store, world.rank, world.size
    raise RuntimeError("the ranks of dtrain:// stay the same: start the job anew")


def register() -> None:
    """Makes the method known to torch.distributed."""
    try:
        register_rendezvous_handler("dtrain", _rendezvous)
    except RuntimeError:
        pass  # it is
