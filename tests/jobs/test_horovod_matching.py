# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain.horovod without torch: which operations ranks carry out, in which order, and where ranks are.

Oracle: what each case says; that every rank comes to the same answer is so by construction, since the answer depends on the
messages of all only, and is tested by permutations of what a rank asks for.
"""
import itertools
import subprocess
import sys

import pytest

from conftest import PYTHON, ROOT

sys.path.insert(0, str(ROOT / "python"))
from dtrain.horovod._agreement import problem_of  # noqa: E402
from dtrain.horovod._matching import Matching  # noqa: E402
from dtrain.horovod._rank_numbers import RankNumbers, numbers_of  # noqa: E402
from dtrain.horovod._requests import Message, Request  # noqa: E402


def allreduce(name, shape=(3,), dtype="float32", reduction="Sum", **more):
    return Request("allreduce", name, (dtype,), (shape,), reduction=reduction, **more)


def asks(*requests, **flags):
    return Message(requests, **flags)


def keys(ready):
    return [one.key for one in ready]


@pytest.mark.parametrize("order", list(itertools.permutations("abc")))
def test_names_match_in_whichever_order_ranks_ask(order):
    matching = Matching(2)
    ready = matching.take([asks(*map(allreduce, "abc")), asks(*map(allreduce, order))])
    assert keys(ready) == ["allreduce.a", "allreduce.b", "allreduce.c"]
    assert all(one.problem == "" and sorted(one.requests) == [0, 1] for one in ready)


def test_an_operation_waits_for_the_last_rank():
    matching = Matching(3)
    assert matching.take([asks(allreduce("a")), asks(), asks(allreduce("a"))]) == []
    assert keys(matching.take([asks(allreduce("b")), asks(allreduce("a")), asks()])) == ["allreduce.a"]
    assert keys(matching.take([asks(), asks(allreduce("b")), asks(allreduce("b"))])) == ["allreduce.b"]


def test_kinds_with_one_name_are_different_operations():
    gather = Request("allgather", "x", ("float32",), ((1,),))
    ready = Matching(2).take([asks(allreduce("x"), gather), asks(gather, allreduce("x"))])
    assert keys(ready) == ["allreduce.x", "allgather.x"]


def test_a_name_can_be_used_again():
    matching = Matching(1)
    for _ in range(2):
        assert keys(matching.take([asks(allreduce("a"))])) == ["allreduce.a"]


@pytest.mark.parametrize("one, other, what", [
    (allreduce("a"), allreduce("a", (4,)), "the shape: (3,) on rank 0, (4,) on rank 1"),
    (allreduce("a", (3, 8)), allreduce("a", (24,)), "the shape: (3, 8) on rank 0, (24,) on rank 1"),
    (allreduce("a"), allreduce("a", dtype="int32"), "the type of elements: float32 on rank 0, int32 on rank 1"),
    (allreduce("a"), allreduce("a", reduction="Min"), "the reduction: Sum on rank 0, Min on rank 1"),
    (allreduce("a"), allreduce("a", factors=(0.5, 1.0)), "the factors: (1.0, 1.0) on rank 0, (0.5, 1.0) on rank 1"),
    (allreduce("a"), allreduce("a", device="cuda"), "the kind of device: cpu on rank 0, cuda on rank 1"),
    (Request("broadcast", "a", ("uint8",), ((1,),), root=0), Request("broadcast", "a", ("uint8",), ((1,),), root=1),
     "the root rank: 0 on rank 0, 1 on rank 1"),
    (Request("allgather", "a", ("uint8",), ((1, 2),)), Request("allgather", "a", ("uint8",), ((1, 3),)),
     "the dimensions after the first one: (2,) on rank 0, (3,) on rank 1"),
])
def test_what_ranks_disagree_about_is_named(one, other, what):
    assert what in problem_of({0: one, 1: other}, [])
    assert problem_of({0: one, 1: one}, []) == ""


def test_first_dimensions_of_what_is_gathered_may_differ():
    assert problem_of({0: Request("allgather", "a", ("uint8",), ((1, 2),)),
                       1: Request("allgather", "a", ("uint8",), ((5, 2),))}, []) == ""


def test_reductions_go_on_without_ranks_that_joined():
    matching = Matching(3)
    assert matching.take([asks(joined=True), asks(allreduce("a")), asks()]) == []
    ready = matching.take([asks(joined=True), asks(), asks(allreduce("a"))])
    assert keys(ready) == ["allreduce.a"] and sorted(ready[0].requests) == [1, 2] and ready[0].problem == ""
    assert not matching.all_joined
    matching.take([asks(joined=True), asks(), asks(joined=True)])
    matching.take([asks(joined=True), asks(joined=True), asks(joined=True)])
    assert matching.all_joined and matching.end_join() == 1 and not matching.all_joined


@pytest.mark.parametrize("request_of_1, why", [
    (Request("allgather", "a", ("float32",), ((1,),)), "rank 0 has joined, and only allreduce goes on"),
    (allreduce("a", reduction="Max"), "would change a result of Max"),
])
def test_what_does_not_go_on_without_data_is_refused(request_of_1, why):
    ready = Matching(2).take([asks(joined=True), asks(request_of_1, waits=True)])
    assert len(ready) == 1 and why in ready[0].problem


def test_ranks_that_wait_for_different_operations_are_told():
    matching = Matching(2)
    assert matching.take([asks(allreduce("a"), waits=True), asks(allreduce("b"), waits=True)]) == []
    ready = matching.take([asks(waits=True), asks(waits=True)])
    assert keys(ready) == ["allreduce.a", "allreduce.b"]
    assert "allreduce.a waits for rank 1; allreduce.b waits for rank 0" in ready[0].problem
    assert matching.take([asks(waits=True), asks(waits=True)]) == []


def test_a_rank_that_is_busy_may_still_ask():
    matching = Matching(2)
    matching.take([asks(allreduce("a"), waits=True), asks()])
    assert matching.take([asks(waits=True), asks()]) == []
    assert keys(matching.take([asks(waits=True), asks(allreduce("a"), waits=True)])) == ["allreduce.a"]


def test_a_rank_that_has_shut_down_is_named():
    matching = Matching(2)
    matching.take([asks(allreduce("a"), waits=True), asks(leaves=True)])
    ready = matching.take([asks(waits=True), asks(leaves=True)])
    assert "rank 1 has called shutdown()" in ready[0].problem


@pytest.mark.parametrize("nodes, rank, numbers", [
    ("a", 0, RankNumbers(0, 1, 0, 1, True)),
    ("aabb", 3, RankNumbers(1, 2, 1, 2, True)),
    ("abab", 2, RankNumbers(1, 2, 0, 2, True)),
    ("aab", 1, RankNumbers(1, 2, 0, 1, False)),
    ("aab", 2, RankNumbers(0, 1, 1, 2, False)),
])
def test_numbers(nodes, rank, numbers):
    assert numbers_of(rank, list(nodes)) == numbers


def test_importing_dtrain_loads_neither_torch_nor_numpy():
    check = ("import sys; sys.path.insert(0, sys.argv[1]); import dtrain, dtrain.horovod; "
             "sys.exit(bool({'torch', 'numpy'} & set(sys.modules)))")
    assert subprocess.run([PYTHON, "-c", check, str(ROOT / "python")], check=False).returncode == 0
