# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Memory of numpy arrays and of whatever else has Python's buffer protocol, without a copy."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional, Sequence, Tuple

# dtrain_type by format of the buffer protocol and bytes of an element ("l" and "L" have 4 or 8)
_REDUCIBLE = {("f", 4): 0, ("d", 8): 1, ("e", 2): 2, ("i", 4): 4, ("l", 4): 4, ("l", 8): 5, ("q", 8): 5, ("B", 1): 6,
              ("b", 1): 7, ("h", 2): 8, ("H", 2): 9, ("I", 4): 10, ("L", 4): 10, ("L", 8): 11, ("Q", 8): 11}
_BFLOAT16 = 3
_UINT8 = 6
_REAL = (0, 1, 2, _BFLOAT16)
_REDUCTIONS = {"sum": 0, "average": 1, "min": 2, "max": 3, "product": 4, "bit_and": 5, "bit_or": 6, "bit_xor": 7}
_FIRST_OF_BITS = 5
# Of bools: what they are reduced by as bytes of 0 and 1. A sum is "any", a product is "all".
_OF_BOOLS = {0: 3, 2: 2, 3: 3, 4: 2, 5: 5, 6: 6, 7: 7}
REDUCIBLE_NAMES = ("float32, float64, float16, bfloat16 (of ml_dtypes), int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
                   "bool")


class _PyBuffer(ctypes.Structure):
    """Py_buffer of Python's stable interface."""

    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
_get_buffer.restype = ctypes.c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.c_void_p]
_release_buffer.restype = None
_first_byte = ctypes.c_char.from_buffer
_address_of = ctypes.addressof


class Memory(NamedTuple):
    """Where an array's elements are. The memory stays while `keeps` does."""

    address: Optional[int]
    bytes: int
    itemsize: int
    format: str
    keeps: Any


def _refused(array: Any, what: str, why: str) -> Exception:
    kind = type(array).__name__
    return TypeError(f"{what}: {kind} {why}")


def _view_of(array: Any, what: str) -> Tuple[memoryview, str]:
    """A view of the memory, and the format of its elements: "E" for bfloat16, which the buffer protocol does not know."""
    try:
        view = memoryview(array)
        return view, view.format
    except (TypeError, ValueError) as error:
        dtype = getattr(array, "dtype", None)
        if dtype is None:
            raise _refused(array, what, "has no memory that can be exchanged: pass a numpy array, or what has Python's "
                           f"buffer protocol ({error})") from None
    if getattr(dtype, "name", "") == "bfloat16":
        return memoryview(array.view("u2")), "E"
    raise _refused(array, what, f"of {dtype} has no memory that can be exchanged") from None


def memory_of(array: Any, what: str, writable: bool) -> Memory:
    """The memory of an array. ValueError, TypeError: it cannot be used as it is."""
    view, kind = _view_of(array, what)
    if not view.c_contiguous:
        raise ValueError(f"{what}: the array's elements do not follow one another in memory (shape {view.shape}, strides "
                         f"{view.strides}): pass numpy.ascontiguousarray(...) of it")
    if "O" in kind:
        raise TypeError(f"{what}: an array of Python objects has only their addresses: broadcast_object() and "
                        "all_gather_object() exchange objects")
    size = view.nbytes
    if size == 0:
        return Memory(None, 0, view.itemsize, kind, view)
    if not view.readonly:
        keeps = _first_byte(view)
        return Memory(_address_of(keeps), size, view.itemsize, kind, keeps)
    if writable:
        raise ValueError(f"{what}: the array is read-only, and the result is written into it: pass a copy")
    buffer = _PyBuffer()
    _get_buffer(view, _address_of(buffer), 0)
    address = buffer.buf
    _release_buffer(_address_of(buffer))
    return Memory(address, size, view.itemsize, kind, view)


def reduction_of(name: str, what: str) -> int:
    """dtrain_reduction of its name."""
    try:
        return _REDUCTIONS[name]
    except (KeyError, TypeError):
        raise ValueError(f"{what}: op is {name!r}; there are {', '.join(map(repr, _REDUCTIONS))}") from None


def _type_of(memory: Memory, what: str) -> int:
    """dtrain_type of the elements."""
    kind = memory.format
    if kind == "E":
        return _BFLOAT16
    if kind[:1] in "<=@":  # as ctypes says it
        kind = kind[1:]
    if kind == "?":
        return _UINT8
    found = _REDUCIBLE.get((kind, memory.itemsize))
    if found is None:
        raise TypeError(f"{what}: elements of format {memory.format!r} with {memory.itemsize} bytes cannot be reduced; "
                        f"those that can: {REDUCIBLE_NAMES}")
    return found


def type_and_reduction(memory: Memory, op: str, what: str) -> Tuple[int, int]:
    """dtrain_type and dtrain_reduction of elements and the name of what they are reduced by."""
    reduction = reduction_of(op, what)
    kind = _REDUCIBLE.get((memory.format, memory.itemsize))
    if kind is None:
        kind = _type_of(memory, what)
        if memory.format[-1:] == "?":
            if reduction not in _OF_BOOLS:
                raise TypeError(f"{what}: bools have no {op}: reduce them as numbers, for example array.astype('f4')")
            reduction = _OF_BOOLS[reduction]
    if reduction >= _FIRST_OF_BITS and kind in _REAL:
        raise TypeError(f"{what}: {op} is for integers and bools; floating-point numbers have sum, average, min, max and "
                        "product")
    return kind, reduction


def new_like(array: Any, shape: Sequence[int], what: str) -> Any:
    """An array of this shape for elements of that array's type."""
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        raise TypeError(f"{what}: name the array for the result by out=...; only for numpy arrays one is made")
    import numpy  # pylint: disable=import-outside-toplevel
    return numpy.empty(tuple(shape), dtype)


def sizes(values: Sequence[int], factor: int = 1) -> Any:
    """An array of size_t."""
    return (ctypes.c_size_t * len(values))(*[int(value) * factor for value in values])
