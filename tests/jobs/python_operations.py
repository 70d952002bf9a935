# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A rank of test_python.py: what dtrain's communicators do with numpy arrays, as cases by name.

Oracle: numpy on the arrays of all ranks, which each rank can make by itself from the rank's number.
"""
import array
import ctypes
import sys
import threading
import time

import numpy as np

import dtrain

world = dtrain.init()
rank, size = world.rank, world.size
REDUCIBLE = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
NUMPY = {"sum": np.add.reduce, "average": None, "min": np.minimum.reduce, "max": np.maximum.reduce,
         "product": np.multiply.reduce}
BITS = {"bit_and": np.bitwise_and.reduce, "bit_or": np.bitwise_or.reduce, "bit_xor": np.bitwise_xor.reduce}
OF_BOOLS = {"sum": np.any, "max": np.any, "product": np.all, "min": np.all, **BITS}


def of_rank(number, shape, dtype):
    """Small whole numbers, whose sums are exact in every type."""
    values = np.random.default_rng([number, int(np.prod(shape))]).integers(0, 9, shape)
    return values.astype(dtype)


def reduced(shape, dtype, op):
    everyone = np.array([of_rank(number, shape, dtype) for number in range(size)])
    if op == "average":
        total = np.add.reduce(everyone.astype("f8"))
        return (total // size if np.dtype(dtype).kind in "iu" else (total / size)).astype(dtype)
    return {**NUMPY, **BITS}[op](everyone, axis=0).astype(dtype)


def ops_of(dtype):
    return [*NUMPY, *(BITS if np.dtype(dtype).kind in "iu" else ())]


def raises(kind, text, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except kind as error:
        assert text in str(error), str(error)
    else:
        raise AssertionError(f"no {kind.__name__}")


def reductions():
    for dtype in REDUCIBLE:
        for op in ops_of(dtype):
            for shape in ((), (1,), (3, 5), (70_000,)):
                expected = reduced(shape, dtype, op)
                values = of_rank(rank, shape, dtype)
                assert world.all_reduce(values, op) is values
                assert np.array_equal(values, expected), (dtype, op, shape)
                values = of_rank(rank, shape, dtype)
                request = world.start_all_reduce(values, op)
                while not request.test():
                    pass
                assert request.wait() is values
                assert np.array_equal(values, expected), (dtype, op, shape)
                for reduce in (world.reduce, lambda *call: world.start_reduce(*call).wait()):
                    values = reduce(of_rank(rank, shape, dtype), size - 1, op)
                    assert rank != size - 1 or np.array_equal(values, expected), (dtype, op, shape)
            whole = (2 * size, 3)
            mine = reduced(whole, dtype, op)[2 * rank:2 * rank + 2]
            assert np.array_equal(world.reduce_scatter(of_rank(rank, whole, dtype), op=op), mine), (dtype, op)
            out = np.empty(6, dtype)
            assert world.start_reduce_scatter(of_rank(rank, whole, dtype), out, op).wait() is out
            assert np.array_equal(out, mine.ravel()), (dtype, op)
    flags = np.array([[number == 0, True, False, number % 2 == 0] for number in range(size)])
    for op, of_all in OF_BOOLS.items():
        result = world.all_reduce(flags[rank].copy(), op)
        assert result.dtype == bool and np.array_equal(result, of_all(flags, axis=0)), op
        assert set(result.view("u1")) <= {0, 1}, op


def numbers():
    assert world.sum(rank) == size * (size - 1) // 2 and isinstance(world.sum(rank), int)
    assert world.sum(0.5) == size / 2 and world.max(rank) == size - 1 and world.min(-1.5 * rank) == -1.5 * (size - 1)
    assert world.sum(2 ** 40) == size * 2 ** 40


def movements():
    for dtype in (*REDUCIBLE, "c16", "?", "i2", "S3", [("a", "i4"), ("b", "f8")]):
        plain = isinstance(dtype, str) and dtype != "S3"
        everyone = np.zeros((size, 4), dtype)
        if plain:
            everyone = np.array([of_rank(number, (4,), "u1") for number in range(size)]).astype(dtype)
        else:
            everyone.view("u1").reshape(size, -1)[:] = [of_rank(number, (everyone[0].nbytes,), "u1") for number in range(size)]
        mine = everyone[rank].copy()
        same = (lambda one, other: one.shape == other.shape and one.tobytes() == other.tobytes())
        assert same(world.all_gather(mine), everyone), dtype
        assert same(world.start_all_gather(mine).wait(), everyone), dtype
        root = size - 1
        for broadcast in (world.broadcast, lambda *call: world.start_broadcast(*call).wait()):
            assert same(broadcast(mine.copy(), root), everyone[root]), dtype
        gathered = world.gather(mine, root)
        assert gathered is None if rank != root else same(gathered, everyone), dtype
        taken = np.empty(4, dtype)
        assert same(world.scatter(everyone if rank == root else None, taken, root), mine), dtype
    mine = np.arange(2 * size) + 100 * rank
    expected = np.concatenate([[100 * number + 2 * rank, 100 * number + 2 * rank + 1] for number in range(size)])
    assert np.array_equal(world.all_to_all(mine), expected)
    assert np.array_equal(world.start_all_to_all(mine).wait(), expected)
    empty = np.empty((0, 3))
    assert world.all_gather(empty).shape == (size, 0, 3) and world.all_reduce(empty).shape == (0, 3)
    world.broadcast(empty)
    world.barrier()
    world.start_barrier().wait()


def uneven():
    rows = np.full((rank, 2), rank, "f4")
    expected = np.concatenate([np.full((number, 2), number, "f4") for number in range(size)])
    assert np.array_equal(world.all_gather_uneven(rows), expected)
    sent = np.repeat(np.arange(size), rank + 1) + 10 * rank  # rank + 1 rows for each rank
    for receive_rows in (None, [number + 1 for number in range(size)]):
        taken = world.all_to_all_uneven(sent, [rank + 1] * size, receive_rows)
        assert np.array_equal(taken, np.concatenate([[10 * number + rank] * (number + 1) for number in range(size)]))
    raises(ValueError, "they add up to", world.all_to_all_uneven, sent, [0] * size)
    if size > 1:
        raises(ValueError, "they must be the same", world.all_gather_uneven, np.zeros((1, rank + 1)))


def messages():
    given, taken = np.full(3, rank), np.empty(3, int)
    request = world.start_send(given, (rank + 1) % size, 5)
    assert world.receive(taken, (rank - 1) % size, 5) is taken
    request.wait()
    assert taken[0] == (rank - 1) % size
    if size > 1:
        request = world.start_receive(taken, (rank - 1) % size)
        world.send(b"\1" * taken.nbytes, (rank + 1) % size)
        assert request.wait().tobytes() == b"\1" * taken.nbytes


def messages_of_any():
    taken = np.empty(2, "i4")
    if rank:
        world.send(np.full(2, rank, "i4"), 0, 6)
        world.send(np.full(2, rank, "i4"), 0, 7)
    else:
        senders = [world.receive_any(taken, 6) for _other in range(1, size)]
        for _other in range(1, size):
            sender = world.start_receive_any(taken, 7).wait()
            assert taken.tolist() == [sender, sender]
            senders.append(sender)
        assert sorted(senders) == sorted([*range(1, size)] * 2)
    request = world.start_send(np.full(2, rank, "i4"), rank, 8)
    assert world.receive_any(taken, 8) == rank
    request.wait()


def waits_with_a_limit():
    assert (world.start_all_reduce(np.ones(9)).wait(timeout=60) == size).all()
    if size == 1:
        return
    if rank == 0:  # the others begin when they are told to
        request = world.start_barrier()
        raises(TimeoutError, "not complete after 0.01 seconds", request.wait, 0.01)
        assert not request.test()
        for number in range(1, size):
            world.send(b"go", number, 2)
        assert request.wait(60) is None
    else:
        world.receive(bytearray(2), 0, 2)
        world.barrier()
    assert not dtrain._communicator._under_way


def subsets():
    if rank in (0, size - 1):
        ends = world.subset([size - 1, 0] if size > 1 else [0], 3)
        assert ends.all_gather_object(rank) == ([size - 1, 0] if size > 1 else [0])
        ends.free()
    raises(dtrain.UsageError, "only listed ranks do", world.subset, [])
    raises(dtrain.UsageError, "rank 99", world.subset, [rank, 99])
    raises(dtrain.UsageError, "tags are 0 to 32767", world.subset, [rank], -1)


def objects():
    value = {"rank": rank, "weights": [1.5] * rank, "text": "\N{GREEK SMALL LETTER ALPHA}"}
    assert world.all_gather_object(value) == [{"rank": number, "weights": [1.5] * number, "text": "α"} for number in range(size)]
    assert world.broadcast_object(value if rank == 0 else None) == {"rank": 0, "weights": [], "text": "α"}
    assert world.broadcast_object(None) is None


def groups():
    part = world.split(rank % 2, -rank)
    assert part.size == len(range(rank % 2, size, 2)) and part.all_gather_object(rank) == sorted(range(rank % 2, size, 2))[::-1]
    ends = world.group([size - 1, 0] if size > 1 else [0])
    assert (ends is None) == (rank not in (0, size - 1))
    if ends is not None:
        assert ends.all_gather_object(rank) == ([size - 1, 0] if size > 1 else [0])
        ends.free()
        raises(dtrain.UsageError, "was freed", ends.barrier)
    node = world.node_local()
    assert (node.size, node.rank) == (world.local_size, world.local_rank) == (dtrain.local_size(), dtrain.local_rank())
    part.free()
    raises(dtrain.UsageError, "rank 99", world.group, [99])
    raises(dtrain.UsageError, "dtrain_finish", world.free)


def shared_memory():
    import gc
    before = dtrain._session.shared_arrays_in_use()
    shared = world.allocate((3, 4), "f8")
    assert shared.array.shape == (3, 4) and not shared.array.any() and shared.array.ctypes.data % 4096 == 0
    shared.array[:] = rank + 1
    world.all_reduce(shared.array)
    assert (shared.array == size * (size + 1) / 2).all()
    shared.array[0] = rank
    world.barrier()
    last = shared.of_rank(size - 1)
    assert last.shape == (12,) and last[0] == size - 1
    assert shared.of_rank(size) is None
    world.barrier()
    kept = shared.array[1]  # a view keeps the memory
    del shared, last
    gc.collect()
    assert dtrain._session.shared_arrays_in_use() == before + 1 and kept[0] == size * (size + 1) / 2
    raises(dtrain.UsageError, "still in use: 1", dtrain.finish)
    del kept
    gc.collect()
    assert dtrain._session.shared_arrays_in_use() == before
    assert world.allocate(rank, "u1").array.size == rank


def refused():
    values = np.zeros((4, 4), "f4")
    raises(ValueError, "numpy.ascontiguousarray", world.all_reduce, values[:, 1])
    raises(ValueError, "numpy.ascontiguousarray", world.all_gather, values.T[1:])
    locked = values.copy()
    locked.flags.writeable = False
    raises(ValueError, "read-only", world.all_reduce, locked)
    raises(ValueError, "read-only", world.broadcast, b"bytes")
    assert world.all_gather(locked).shape == (size, 4, 4)
    for dtype in ("c8", "f16", ">f4", "S4"):
        raises(TypeError, "those that can: float32, float64", world.all_reduce, np.zeros(2, dtype))
    raises(TypeError, "bools have no average", world.all_reduce, np.zeros(2, "?"), "average")
    raises(TypeError, "bit_or is for integers and bools", world.all_reduce, values, "bit_or")
    raises(TypeError, "broadcast_object", world.broadcast, np.array([None, 1], object))
    raises(TypeError, "numpy array", world.all_reduce, [1.0, 2.0])
    raises(TypeError, "numpy array", world.all_reduce, 3.0)
    raises(ValueError, "'prod'; there are 'sum', 'average'", world.all_reduce, values, "prod")
    raises(ValueError, "are needed", world.all_gather, values, np.empty(3, "f4"))
    raises(ValueError, "make them the same", world.all_gather, values, np.empty((size, 4, 4), "i4"))
    if size > 1:
        raises(ValueError, "do not divide", world.reduce_scatter, np.zeros(4 * size + 1))
        raises(ValueError, "are no blocks", world.all_to_all, np.zeros(4 * size + 1))
    raises(dtrain.DtrainError, "in a world of", world.send, values, size)
    raises(dtrain.UsageError, "root", world.broadcast, values, size)


def other_memory():
    """What is no numpy array, and bfloat16 where ml_dtypes is there."""
    values = array.array("d", [rank, 1.0])
    assert world.all_reduce(values).tolist() == [size * (size - 1) / 2, size]
    numbers = (ctypes.c_float * 2)(1, rank)
    assert list(world.all_reduce(numbers, "max")) == [1, size - 1] or size == 1
    text = bytearray(b"of rank %d" % rank)
    assert world.broadcast(text, size - 1) == b"of rank %d" % (size - 1)
    raises(TypeError, "out=", world.all_gather, text)
    out = bytearray(len(text) * size)
    assert world.all_gather(text, out) == (b"of rank %d" % (size - 1)) * size
    try:
        import ml_dtypes
    except ImportError:
        return
    halves = np.full(3, 0.5 * (rank + 1), ml_dtypes.bfloat16)
    assert (world.all_reduce(halves).astype("f4") == size * (size + 1) / 4).all()
    assert world.all_gather(halves).dtype == ml_dtypes.bfloat16


def threads():
    """A second thread that enters is told so, and the first one is not disturbed."""
    if size == 1:
        return
    if rank == 0:
        waiting = threading.Thread(target=world.barrier)
        waiting.start()
        time.sleep(0.3)
        raises(dtrain.UsageError, "another thread", world.barrier)
        assert waiting.is_alive()
        waiting.join()
    else:
        time.sleep(0.6)
        world.barrier()
    world.barrier()


def many_under_way():
    """Requests that end in another order than they began, and one that nobody refers to until its end."""
    arrays = [of_rank(rank, (1 + 997 * number % 5000,), "f4") for number in range(40)]
    requests = [world.start_all_reduce(values) for values in arrays]
    for number in reversed(range(40)):
        assert np.array_equal(requests[number].wait(), reduced(arrays[number].shape, "f4", "sum")), number
    request = world.start_all_reduce(np.ones(9))
    if size > 1:
        raises(dtrain.UsageError, "under way", dtrain.finish)
    assert (request.wait() == size).all()
    assert not dtrain._communicator._under_way


def finish_and_begin():
    """Of a world without MPI, which can begin again."""
    if world.describe() != "1 rank, alone":
        return
    dtrain.finish()
    raises(dtrain.NotInitialised, "init()", dtrain.rank)
    raises(dtrain.NotInitialised, "init()", lambda: dtrain.world)
    assert not dtrain.is_initialised()
    assert dtrain.init().size == 1


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[name]()
    print(f"rank {rank} of {size} has passed {len(sys.argv) - 1}", flush=True)
