# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Communicators: groups of ranks that exchange arrays. What is collective, and in which order, is that of
dtrain/communicator.hpp."""
from __future__ import annotations

import ctypes
import math
import weakref
from ctypes import byref, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type, Union

from ._arrays import Memory, memory_of, new_like, sizes, type_and_reduction
from ._library import CommInfo, library
from ._source import note_source

#: What operations under way use: it stays, whatever becomes of their Request.
_under_way: Dict[int, Tuple[Any, ...]] = {}
_shared: "Dict[int, weakref.finalize[Any, Any]]" = {}
_FLOAT64, _INT64 = 1, 5


class Request:
    """An operation under way. Its arrays belong to it until test() or wait() say that it is complete."""

    def __init__(self, number: c_uint64, result: Any, keeps: Tuple[Any, ...]):
        self._number = number
        self._result = result
        self._key = number.value
        if self._key:
            _under_way[self._key] = keeps

    def _complete(self) -> None:
        _under_way.pop(self._key, None)

    def test(self) -> bool:
        """Lets the operation go on; True once it is complete."""
        is_complete = c_int()
        if library().test(ctypes.addressof(self._number), byref(is_complete)):
            self._number.value = 0
            self._complete()
            library().raise_last_error()
        if is_complete.value:
            self._complete()
        return bool(is_complete.value)

    def wait(self, timeout: Optional[float] = None) -> Any:
        """Waits until the operation is complete, and returns the array that has its result (None: it has none).

        :param timeout: seconds, after which TimeoutError is raised: the operation goes on, and may be waited for again
        """
        if timeout is not None and not self._wait_for(timeout):
            raise TimeoutError(f"the operation was not complete after {timeout:g} seconds; it goes on: wait for it again")
        status = library().wait(ctypes.addressof(self._number))
        self._complete()
        if status:
            library().raise_last_error()
        return self._result

    def _wait_for(self, timeout: float) -> bool:
        is_complete = c_int()
        if library().wait_for(ctypes.addressof(self._number), timeout, byref(is_complete)):
            self._complete()
            library().raise_last_error()
        return bool(is_complete.value)


class _AnySender(Request):
    """A message under way whose result is the rank of its sender."""

    def wait(self, timeout: Optional[float] = None) -> int:
        sender: int = super().wait(timeout).value
        return sender


class SharedArray:
    """Memory that the ranks of a node share: reductions over it are fastest. Each rank has its own part, zeroed at first,
    and reaches those of the other ranks of its node. A rank that reads what another one writes must synchronise by an
    operation of the communicator, as barrier()."""

    def __init__(self, buffer: int, address: Optional[int], shape: Tuple[int, ...], dtype: Any):
        import numpy  # pylint: disable=import-outside-toplevel
        self._buffer = buffer
        self._dtype = numpy.dtype(dtype)
        self._owner = _Owner(buffer)
        #: This rank's part, a numpy array. It keeps the memory alive.
        self.array = self._part(address, math.prod(shape) * self._dtype.itemsize).reshape(shape)

    def _part(self, address: Optional[int], size: int) -> Any:
        import numpy  # pylint: disable=import-outside-toplevel
        if size == 0:
            return numpy.empty(0, self._dtype)
        memory: Any = (ctypes.c_char * size).from_address(address or 0)
        memory.owner = self._owner  # arrays keep the memory, and that what frees it
        return numpy.frombuffer(memory, self._dtype)

    def of_rank(self, rank: int) -> Any:
        """Another rank's part as an array of one dimension: the memory itself. None: it is on another node."""
        address, size = c_void_p(), c_size_t()
        if library().buffer_of_rank(self._buffer, rank, byref(address), byref(size)):
            library().raise_last_error()
        return None if address.value is None else self._part(address.value, size.value)


class _Owner:
    """Frees a buffer when nobody uses it any longer."""

    def __init__(self, buffer: int):
        _shared[buffer] = weakref.finalize(self, _free, buffer)
        _shared[buffer].atexit = False


def _free(buffer: int) -> None:
    _shared.pop(buffer, None)
    library().buffer_free(buffer)


def shared_arrays_in_use() -> int:
    """Shared memory that this rank has not given up."""
    return len(_shared)


def _check_lengths(what: str, out: Memory, wanted: int, array: Memory, why: str) -> None:
    if out.bytes != wanted:
        raise ValueError(f"{what}: out has {out.bytes} bytes, and {wanted} are needed: {why}")
    if out.format != array.format and out.bytes:
        raise ValueError(f"{what}: out has elements of format {out.format!r}, the array of {array.format!r}: "
                         "make them the same")


def _rows_of(array: Any, what: str) -> int:
    shape = memoryview(array).shape if not hasattr(array, "shape") else array.shape
    if not shape:
        raise ValueError(f"{what}: the array has no dimensions; its first one is divided among ranks")
    return shape[0]


class Communicator:
    """A group of ranks. Operations take numpy arrays, or whatever else has Python's buffer protocol, without a copy:
    elements that follow one another in memory, and that can be written where a result goes. start_...() returns a Request
    at once; its wait() gives what the operation without start_ returns.

    op is "sum", "average", "min", "max" or "product"; of integers also "bit_and", "bit_or" or "bit_xor". Of bools "sum" and
    "max" say whether any is true, "product" and "min" whether all are.
    """

    def __init__(self, handle: int):
        self._handle = handle
        info = CommInfo()
        if library().comm_get_info(handle, byref(info)):
            library().raise_last_error()
        self.rank: int = info.rank  #: number of this rank, from 0
        self.size: int = info.size  #: number of ranks
        self.local_rank: int = info.node_rank  #: among the ranks of this node
        self.local_size: int = info.node_size  #: ranks of this node
        self.node: int = info.node  #: number of this node, from 0
        self.nodes: int = info.nodes  #: number of nodes

    def __repr__(self) -> str:
        return f"<dtrain.Communicator: rank {self.rank} of {self.size}>"

    def describe(self) -> str:
        """One line: how many ranks on how many nodes, and which transports they use."""
        text = ctypes.create_string_buffer(1024)
        self._run(library().comm_describe, text, len(text))
        return text.value.decode()

    def _run(self, function: Any, *arguments: Any) -> None:
        if library().records:
            note_source(library())
        if function(self._handle, *arguments):
            library().raise_last_error()

    def _start(self, function: Any, arguments: Tuple[Any, ...], result: Any, keeps: Tuple[Any, ...],
               kind: "Type[Request]" = Request) -> Request:
        if library().records:
            note_source(library())
        number = c_uint64()
        if function(self._handle, *arguments, ctypes.addressof(number)):
            library().raise_last_error()
        return kind(number, result, keeps)

    # Groups of ranks

    def _new(self, function: Any, *arguments: Any) -> "Optional[Communicator]":
        handle = c_int()
        self._run(function, *arguments, byref(handle))
        return None if handle.value < 0 else Communicator(handle.value)

    def split(self, color: int, key: Optional[int] = None) -> "Communicator":
        """Ranks of the same color (0 or more) form a communicator, ordered by key (their rank) and then by rank.
        Collective."""
        made = self._new(library().comm_split, color, self.rank if key is None else key)
        assert made is not None
        return made

    def group(self, ranks: Sequence[int]) -> "Optional[Communicator]":
        """A communicator of these ranks, in this order; None on the others. Collective over all ranks of this one, which
        pass the same list."""
        return self._new(library().comm_group, (c_int * len(ranks))(*ranks), len(ranks))

    def subset(self, ranks: Sequence[int], tag: int = 0) -> "Communicator":
        """A communicator of these ranks, in this order. Collective over them alone: they pass the same list and tag, and the
        others do not call it. Ranks that make several at a time name them by the tag, 0 to 32767."""
        made = self._new(library().comm_of, (c_int * len(ranks))(*ranks), len(ranks), tag)
        assert made is not None
        return made

    def node_local(self) -> "Communicator":
        """A communicator of the ranks of this rank's node. Collective."""
        made = self._new(library().comm_node_local)
        assert made is not None
        return made

    def free(self) -> None:
        """Ends this communicator. Collective over its ranks. Those that are left end with finish()."""
        self._run(library().comm_free)

    # Synchronisation and reductions

    def barrier(self) -> None:
        """Returns when all ranks have entered."""
        self._run(library().barrier, None)

    def start_barrier(self) -> Request:
        """barrier() that returns at once."""
        return self._start(library().barrier, (), None, ())

    def _reducing(self, array: Any, op: str, what: str) -> Tuple[Tuple[Any, ...], Memory]:
        memory = memory_of(array, what, writable=True)
        return (memory[0], memory[1] // memory[2], *type_and_reduction(memory, op, what)), memory

    def all_reduce(self, array: Any, op: str = "sum") -> Any:
        """Reduces element by element over all ranks, in place, and returns the array."""
        arguments, _memory = self._reducing(array, op, "all_reduce")
        self._run(library().all_reduce, *arguments, None)
        return array

    def start_all_reduce(self, array: Any, op: str = "sum") -> Request:
        """all_reduce() that returns at once."""
        arguments, memory = self._reducing(array, op, "all_reduce")
        return self._start(library().all_reduce, arguments, array, (array, memory))

    def reduce(self, array: Any, root: int = 0, op: str = "sum") -> Any:
        """Reduces to root, in place, and returns the array. Elsewhere its contents are unspecified afterwards."""
        arguments, _memory = self._reducing(array, op, "reduce")
        self._run(library().reduce, *arguments, root, None)
        return array

    def start_reduce(self, array: Any, root: int = 0, op: str = "sum") -> Request:
        """reduce() that returns at once."""
        arguments, memory = self._reducing(array, op, "reduce")
        return self._start(library().reduce, (*arguments, root), array, (array, memory))

    def _scattering(self, array: Any, out: Any, op: str) -> Tuple[Tuple[Any, ...], Any, Tuple[Any, ...]]:
        what = "reduce_scatter"
        source = memory_of(array, what, writable=False)
        if out is None:
            rows = self._rows_per_rank(array, what)
            out = new_like(array, (rows, *array.shape[1:]), what)
        target = memory_of(out, what, writable=True)
        _check_lengths(what, target, source.bytes // self.size, source, f"a block of {self.size}")
        if source.bytes % self.size:
            raise ValueError(f"{what}: {source.bytes} bytes are no blocks for {self.size} ranks")
        count = target.bytes // target.itemsize
        arguments = (source.address, target.address, count, *type_and_reduction(source, op, what))
        return arguments, out, (array, out, source, target)

    def reduce_scatter(self, array: Any, out: Any = None, op: str = "sum") -> Any:
        """Reduces an array of `size` blocks; rank r receives block r in `out`, which is returned. None: a new array, and
        the first dimension is divided among ranks."""
        arguments, out, _keeps = self._scattering(array, out, op)
        self._run(library().reduce_scatter, *arguments, None)
        return out

    def start_reduce_scatter(self, array: Any, out: Any = None, op: str = "sum") -> Request:
        """reduce_scatter() that returns at once."""
        arguments, out, keeps = self._scattering(array, out, op)
        return self._start(library().reduce_scatter, arguments, out, keeps)

    def _one_value(self, value: Union[int, float], reduction: int) -> Union[int, float]:
        is_integer = isinstance(value, int)
        number: Any = c_int64(int(value)) if is_integer else c_double(value)
        self._run(library().all_reduce, ctypes.addressof(number), 1, _INT64 if is_integer else _FLOAT64, reduction, None)
        reduced: Union[int, float] = number.value
        return reduced

    def sum(self, value: Union[int, float]) -> Union[int, float]:
        """Sum of one number per rank: all pass an int of at most 64 bits, or all a float."""
        return self._one_value(value, 0)

    def min(self, value: Union[int, float]) -> Union[int, float]:
        """The smallest number of all ranks, as with sum()."""
        return self._one_value(value, 2)

    def max(self, value: Union[int, float]) -> Union[int, float]:
        """The largest number of all ranks, as with sum()."""
        return self._one_value(value, 3)

    # Movements, of elements of any type

    def broadcast(self, array: Any, root: int = 0) -> Any:
        """Sends root's elements to all ranks, into arrays of the same length, and returns the array."""
        memory = memory_of(array, "broadcast", writable=True)
        self._run(library().broadcast, memory.address, memory.bytes, root, None)
        return array

    def start_broadcast(self, array: Any, root: int = 0) -> Request:
        """broadcast() that returns at once."""
        memory = memory_of(array, "broadcast", writable=True)
        return self._start(library().broadcast, (memory.address, memory.bytes, root), array, (array, memory))

    def _gathering(self, array: Any, out: Any, what: str) -> Tuple[Memory, Any, Memory]:
        source = memory_of(array, what, writable=False)
        if out is None:
            out = new_like(array, (self.size, *getattr(array, "shape", ())), what)
        target = memory_of(out, what, writable=True)
        _check_lengths(what, target, source.bytes * self.size, source, f"{source.bytes} of {self.size} ranks")
        return source, out, target

    def all_gather(self, array: Any, out: Any = None) -> Any:
        """Gathers the arrays of all ranks, which have the same length, in rank order in `out`, and returns it. None: a new
        array with one dimension more."""
        source, out, target = self._gathering(array, out, "all_gather")
        self._run(library().all_gather, source.address, source.bytes, target.address, None)
        return out

    def start_all_gather(self, array: Any, out: Any = None) -> Request:
        """all_gather() that returns at once."""
        source, out, target = self._gathering(array, out, "all_gather")
        return self._start(library().all_gather, (source.address, source.bytes, target.address), out,
                           (array, out, source, target))

    def all_gather_uneven(self, array: Any) -> Any:
        """Gathers arrays of different lengths: the result has those of all ranks one after the other along the first
        dimension. The other dimensions are the same on all ranks."""
        what = "all_gather_uneven"
        source = memory_of(array, what, writable=False)
        rows = _rows_of(array, what)
        row_bytes = source.itemsize * math.prod(array.shape[1:])
        table = self._numbers(rows, row_bytes)
        if len({entry[1] for entry in table}) > 1:
            raise ValueError(f"{what}: rows have {', '.join(str(entry[1]) for entry in table)} bytes on ranks 0 to "
                             f"{self.size - 1}; they must be the same")
        out = new_like(array, (sum(entry[0] for entry in table), *array.shape[1:]), what)
        target = memory_of(out, what, writable=True)
        lengths = sizes([entry[0] for entry in table], row_bytes)
        self._run(library().all_gather_uneven, source.address, lengths, target.address, None)
        return out

    def _numbers(self, *own: int) -> List[Tuple[int, ...]]:
        """Some whole numbers of every rank."""
        count = len(own)
        mine = (c_int64 * count)(*own)
        everyone = (c_int64 * (count * self.size))()
        self._run(library().all_gather, ctypes.addressof(mine), ctypes.sizeof(mine), ctypes.addressof(everyone), None)
        return [tuple(everyone[rank * count:(rank + 1) * count]) for rank in range(self.size)]

    def _rows_per_rank(self, array: Any, what: str) -> int:
        rows = _rows_of(array, what)
        if rows % self.size:
            raise ValueError(f"{what}: the first dimension is {rows}, which {self.size} ranks do not divide")
        return rows // self.size

    def _exchanging(self, array: Any, out: Any) -> Tuple[Tuple[Any, ...], Any, Tuple[Any, ...]]:
        what = "all_to_all"
        source = memory_of(array, what, writable=False)
        if source.bytes % (self.size * source.itemsize):
            raise ValueError(f"{what}: {source.bytes // source.itemsize} elements are no blocks for {self.size} ranks")
        if out is None:
            self._rows_per_rank(array, what)
            out = new_like(array, array.shape, what)
        target = memory_of(out, what, writable=True)
        _check_lengths(what, target, source.bytes, source, "as many as are sent")
        return (source.address, target.address, source.bytes // self.size), out, (array, out, source, target)

    def all_to_all(self, array: Any, out: Any = None) -> Any:
        """Of an array of `size` blocks, block r goes to rank r; block r of `out` comes from rank r. None: a new array.
        Returns `out`, which must not overlap the array."""
        arguments, out, _keeps = self._exchanging(array, out)
        self._run(library().all_to_all, *arguments, None)
        return out

    def start_all_to_all(self, array: Any, out: Any = None) -> Request:
        """all_to_all() that returns at once."""
        arguments, out, keeps = self._exchanging(array, out)
        return self._start(library().all_to_all, arguments, out, keeps)

    def all_to_all_uneven(self, array: Any, send_rows: Sequence[int], receive_rows: Optional[Sequence[int]] = None) -> Any:
        """all_to_all() of blocks of different lengths: rank r gets send_rows[r] rows. Returns an array of the rows that
        arrived, in rank order. receive_rows says how many come from each rank; without it the ranks tell each other."""
        what = "all_to_all_uneven"
        source = memory_of(array, what, writable=False)
        rows = _rows_of(array, what)
        if len(send_rows) != self.size or sum(send_rows) != rows or min(send_rows) < 0:
            raise ValueError(f"{what}: send_rows is {list(send_rows)}; it has a number for each of {self.size} ranks, and "
                             f"they add up to {rows}")
        if receive_rows is None:
            receive_rows = [entry[self.rank] for entry in self._numbers(*send_rows)]
        elif len(receive_rows) != self.size or min(receive_rows) < 0:
            raise ValueError(f"{what}: receive_rows is {list(receive_rows)}; it has a number for each of {self.size} ranks")
        row_bytes = source.itemsize * math.prod(array.shape[1:])
        out = new_like(array, (sum(receive_rows), *array.shape[1:]), what)
        target = memory_of(out, what, writable=True)
        self._run(library().all_to_all_uneven, source.address, sizes(send_rows, row_bytes), target.address,
                  sizes(receive_rows, row_bytes), None)
        return out

    def gather(self, array: Any, root: int = 0, out: Any = None) -> Any:
        """all_gather() for root only: there `out` (None: a new array) is returned, elsewhere None."""
        if self.rank != root:
            source = memory_of(array, "gather", writable=False)
            self._run(library().gather, source.address, source.bytes, None, None, root, None)
            return None
        source, out, target = self._gathering(array, out, "gather")
        self._run(library().gather, source.address, source.bytes, target.address, None, root, None)
        return out

    def scatter(self, array: Any, out: Any, root: int = 0) -> Any:
        """Sends block r of root's array to rank r, into `out`, which is returned. The array of other ranks is not used
        (None)."""
        target = memory_of(out, "scatter", writable=True)
        address = None
        if self.rank == root:
            source = memory_of(array, "scatter", writable=False)
            if source.bytes != target.bytes * self.size:
                raise ValueError(f"scatter: the array has {source.bytes} bytes, and out has {target.bytes}: for "
                                 f"{self.size} ranks {target.bytes * self.size} are needed")
            address = source.address
        self._run(library().scatter, address, None, target.address, target.bytes, root, None)
        return out

    # Messages

    def send(self, array: Any, to: int, tag: int = 0) -> None:
        """Sends a message; the receiver passes an array of the same length. Tags are 0 to 32767."""
        memory = memory_of(array, "send", writable=False)
        self._run(library().send, memory.address, memory.bytes, to, tag, None)

    def start_send(self, array: Any, to: int, tag: int = 0) -> Request:
        """send() that returns at once."""
        memory = memory_of(array, "send", writable=False)
        return self._start(library().send, (memory.address, memory.bytes, to, tag), None, (array, memory))

    def receive(self, array: Any, source: int, tag: int = 0) -> Any:
        """Receives a message of the array's length from this rank, and returns the array."""
        memory = memory_of(array, "receive", writable=True)
        self._run(library().receive, memory.address, memory.bytes, source, tag, None)
        return array

    def start_receive(self, array: Any, source: int, tag: int = 0) -> Request:
        """receive() that returns at once."""
        memory = memory_of(array, "receive", writable=True)
        return self._start(library().receive, (memory.address, memory.bytes, source, tag), array, (array, memory))

    def receive_any(self, array: Any, tag: int = 0) -> int:
        """Receives a message of the array's length from whichever rank has sent one, and returns the rank."""
        memory = memory_of(array, "receive_any", writable=True)
        sender = c_int()
        self._run(library().receive_any, memory.address, memory.bytes, tag, ctypes.addressof(sender), None)
        return sender.value

    def start_receive_any(self, array: Any, tag: int = 0) -> Request:
        """receive_any() that returns at once: wait() gives the rank."""
        memory = memory_of(array, "receive_any", writable=True)
        sender = c_int()
        arguments = (memory.address, memory.bytes, tag, ctypes.addressof(sender))
        return self._start(library().receive_any, arguments, sender, (array, memory, sender), _AnySender)

    # Objects, by pickle

    def broadcast_object(self, value: Any = None, root: int = 0) -> Any:
        """Returns root's object on all ranks. It travels by pickle, within the job."""
        import pickle  # pylint: disable=import-outside-toplevel
        data = bytearray(pickle.dumps(value)) if self.rank == root else bytearray()
        length = c_int64(len(data))
        self._run(library().broadcast, ctypes.addressof(length), ctypes.sizeof(length), root, None)
        if self.rank != root:
            data = bytearray(length.value)
        self.broadcast(data, root)
        return value if self.rank == root else pickle.loads(data)

    def all_gather_object(self, value: Any) -> List[Any]:
        """Returns every rank's object, in rank order, by pickle."""
        import pickle  # pylint: disable=import-outside-toplevel
        data = pickle.dumps(value)
        lengths = [entry[0] for entry in self._numbers(len(data))]
        everyone = bytearray(sum(lengths))
        source, target = memory_of(data, "all_gather_object", False), memory_of(everyone, "all_gather_object", True)
        self._run(library().all_gather_uneven, source.address, sizes(lengths), target.address, None)
        values, offset = [], 0
        for length in lengths:
            values.append(pickle.loads(memoryview(everyone)[offset:offset + length]))
            offset += length
        return values

    # Memory

    def allocate(self, shape: Union[int, Sequence[int]], dtype: Any = "float32") -> SharedArray:
        """Memory that the ranks of a node share, as a numpy array. Shapes may differ between ranks. Collective.
        It stays until nothing uses its arrays, until finish() at most."""
        import numpy  # pylint: disable=import-outside-toplevel
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        buffer, address = c_uint64(), c_void_p()
        size = math.prod(shape) * numpy.dtype(dtype).itemsize
        self._run(library().allocate, size, byref(buffer), byref(address))
        return SharedArray(buffer.value, address.value, shape, dtype)
