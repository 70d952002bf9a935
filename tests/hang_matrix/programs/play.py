# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A training loop in which ranks of three hang as the program's first argument says (../kinds.py). `ranks` is what they communicate
with, a class of on_*.py: each step broadcasts, sums, gathers and ends with a barrier."""
import os
import sys

import blocked
import healthy

kind = sys.argv[1]
HANG_AT = 20
OF_RANK_0 = ("evaluate", "save_checkpoint", "write_to_frozen_disk")
OTHER_CALLS = ("skips", "reorders", "exception", "other_count", "other_type", "other_root", "other_operation")


def before_start():
    """Call it before the ranks know each other."""
    if kind == "comes_not" and os.environ["RANK"] == "2":
        blocked.begin()
        blocked.sleeps()


def arrive():
    """Call it right before a rank asks for the others."""
    if kind == "comes_not":
        blocked.begin()


def calls_of_step(ranks, own_kind=""):
    """Of a step before its barrier."""
    ranks.broadcast(root=1 if own_kind == "other_root" else 0)
    if own_kind == "reorders":
        ranks.all_gather()
        ranks.sum()
        return
    if own_kind == "other_count":
        ranks.sum(count=500)
    elif own_kind == "other_type":
        ranks.sum(type_name="float64")
    elif own_kind == "other_operation":
        ranks.all_gather()
    elif own_kind != "skips":
        ranks.sum()
    try:
        if own_kind == "exception":
            raise ValueError("a bad sample")
        ranks.all_gather()
    except ValueError:
        pass


def communicates(ranks):
    """What some ranks do instead of what the others do next."""
    rank = ranks.rank
    alone = {"receives": lambda: ranks.receive(0), "sends": lambda: ranks.send(0), "receives_from_any": ranks.receive_from_any,
             "waits_for_request": ranks.wait_for_request, "makes_group": ranks.make_group, **ranks.alone()}
    if kind in alone and rank == 2:
        blocked.begin()
        alone[kind]()
    if kind in ranks.others() and rank in (0, 1):
        ranks.others()[kind]()
    if kind == "circle" and rank < 2:
        blocked.begin()
        ranks.receive(1 - rank)
    if kind == "ring_of_sends":
        blocked.begin()
        ranks.send((rank + 1) % 3)
    if kind == "other_group" and rank == 1:
        blocked.begin()
        ranks.barrier_of("pair")
    if kind == "order_of_groups" and rank > 0:
        blocked.begin()
        for name in ("pair", "twin") if rank == 1 else ("twin", "pair"):
            ranks.barrier_of(name)


def play_phases(ranks):
    """A healthy run: one rank after the other is busy with something, while the others wait for it. Before that more than 100
    operations end, so that a learned limit is short."""
    for rank, phase in ((0, healthy.evaluate), (0, healthy.save_checkpoint), (1, healthy.next_batch), (2, healthy.compiler)):
        for _ in range(40):
            calls_of_step(ranks)
        if ranks.rank == rank:
            phase()
        ranks.barrier()


def play(ranks):
    if kind == "healthy":
        play_phases(ranks)
        return
    culprits = (1, 2) if kind == "two_are_late" else (0,) if kind in OF_RANK_0 else (2,)
    is_culprit = ranks.rank in culprits
    for step in range(1, 100000):
        if step == HANG_AT and is_culprit and kind in OTHER_CALLS:
            blocked.begin()
            calls_of_step(ranks, kind)
        else:
            calls_of_step(ranks)
        if step == HANG_AT and is_culprit:
            if kind in ("leaves", "loop_ends", "loop_ends_early"):
                blocked.begin()
                break
            if kind == "two_are_late":
                blocked.begin()
                blocked.sleeps()
            if hasattr(blocked, kind):
                blocked.begin()
                getattr(blocked, kind)()
        if step == HANG_AT:
            communicates(ranks)
        if step == HANG_AT and ranks.rank == 0 and kind == "link":
            blocked.begin()  # the harness cuts it
        ranks.barrier()
    if kind == "loop_ends_early":
        ranks.reduce()
    if kind == "loop_ends":
        blocked.sleeps()
    if kind == "leaves":
        os._exit(0)  # pylint: disable=protected-access
