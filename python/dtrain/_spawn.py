# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""spawn(): a plain script that starts its own ranks, on this machine, through dtrain-launch."""
from __future__ import annotations

import os
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p, string_at
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Union

from . import _session
from ._errors import SpawnError, UsageError
from ._library import SpawnOptions, library

if TYPE_CHECKING:
    import pathlib

# What only spawn() needs is imported there: it takes as long as the rest of `import dtrain`.
# pylint: disable=import-outside-toplevel
_POLL = 0.1  # seconds; in between Ctrl-C is heard
_is_preparing = False


class Spawned:
    """The ranks of a call of spawn(). They end with the process that started them."""

    def __init__(self, handle: int, nprocs: int):
        self._handle = handle
        self.nprocs = nprocs  #: number of ranks

    def join(self, timeout: Optional[float] = None) -> bool:
        """Waits until all ranks have ended; False if the timeout (seconds) was over first. Raises SpawnError of the rank
        that failed first."""
        left = timeout
        while True:
            step = _POLL if left is None else min(_POLL, max(left, 0))
            if self._has_ended(step):
                return True
            if left is not None:
                left -= step
                if left <= 0:
                    return False

    def _has_ended(self, timeout: float) -> bool:
        have_ended = c_int()
        if library().spawn_join(self._handle, timeout, byref(have_ended)):
            try:
                library().raise_last_error()
            except SpawnError as error:
                raise self._with_traceback(error) from self._exception_of(error.rank)
        return bool(have_ended.value)

    def _file(self, rank: int, what: str) -> "pathlib.Path":
        folder = c_char_p()
        if library().spawn_folder(self._handle, byref(folder)):
            library().raise_last_error()
        return _path_of(folder) / f"{what}.{rank}"

    def _with_traceback(self, error: SpawnError) -> SpawnError:
        try:
            error.traceback = self._file(error.rank, "traceback").read_text(encoding="utf-8")
        except OSError:
            pass  # it did not raise anything
        return error

    def _exception_of(self, rank: int) -> Optional[BaseException]:
        import pickle
        try:
            thrown: BaseException = pickle.loads(self._file(rank, "exception").read_bytes())
            return thrown
        except Exception:  # pylint: disable=broad-except
            return None  # there is none, or it cannot be made here

    def results(self) -> List[Any]:
        """What the function returned, by rank. Waits as join() does."""
        import pickle
        self.join()
        values = []
        for rank in range(self.nprocs):
            data, size = c_void_p(), c_size_t()
            if library().spawn_result(self._handle, rank, byref(data), byref(size)):
                library().raise_last_error()
            values.append(pickle.loads(string_at(data, size.value)))
        return values

    def stop(self) -> None:
        """Stops the ranks that are still running."""
        if self._handle:
            library().spawn_free(self._handle)
            self._handle = 0

    def __enter__(self) -> "Spawned":
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.stop()

    def __del__(self) -> None:
        self.stop()


def spawn(function: Callable[..., Any], args: Sequence[Any] = (), nprocs: int = -1,
          gpus: Union[str, Sequence[int], None] = None, *, backend: str = "auto", log_dir: Optional[str] = None,
          join: bool = True) -> Spawned:
    """Calls function(*args) in nprocs ranks on this machine; corresponds to paddle.distributed.spawn and
    torch.multiprocessing.spawn (without a rank as first argument: the function calls init()).

    function and args travel by pickle: the function is one that the ranks can import, of a module or of the script, whose
    own call of spawn() stands behind `if __name__ == "__main__":`.

    nprocs: number of ranks; -1: one for each visible GPU, or without GPUs for each core.
    gpus: physical ids of nprocs visible GPUs, "4,5" or [4, 5]; None: the first nprocs visible ones.
    backend: "auto", "nccl" or "gloo"; with "gloo" no GPU is visible to the ranks.
    log_dir: folder for the output of the ranks, one file per rank; None: not stored.
    join: wait until all ranks have ended; raises SpawnError if one failed.
    """
    if _is_preparing:
        raise UsageError("spawn: this is a rank of spawn(), which imports the script to find the function: put what the "
                         'script does behind `if __name__ == "__main__":`')
    if _session.is_initialised():
        raise UsageError("spawn: this process is a rank already, by dtrain.init(): call spawn() before it, or make the "
                         "call of init() part of the function")
    if gpus is not None and not isinstance(gpus, str):
        gpus = ",".join(str(gpu) for gpu in gpus)
    import pickle
    from multiprocessing import spawn as preparation
    try:
        call = pickle.dumps((function, tuple(args)))
    except Exception as error:
        raise TypeError(f"spawn: the function or its arguments cannot be pickled ({error}): pass a function of a module or "
                        "of the script, not a lambda or one inside of another function") from error
    prepared = preparation.get_preparation_data("dtrain.spawn")
    for name in ("authkey", "start_method"):  # of multiprocessing's own children
        prepared.pop(name, None)
    data = pickle.dumps((prepared, call))
    program = [sys.executable, *_interpreter_options(), "-m", "dtrain._spawned"]
    command = (c_char_p * (len(program) + 1))(*[os.fsencode(word) for word in program], None)
    options = SpawnOptions(nprocs, os.fsencode(gpus or ""), backend.encode(), os.fsencode(log_dir or ""))
    handle, count = c_uint64(), c_int()
    sys.stdout.flush()
    if library().spawn(command, data, len(data), byref(options), byref(handle), byref(count)):
        library().raise_last_error()
    ranks = Spawned(handle.value, count.value)
    if join:
        try:
            ranks.join()
        except KeyboardInterrupt:
            ranks.stop()
            raise
    return ranks


def _path_of(text: c_char_p) -> "pathlib.Path":
    import pathlib
    return pathlib.Path(os.fsdecode(text.value or b""))


def is_spawned() -> bool:
    """True in a rank of spawn()."""
    return bool(library().is_spawned())


def _interpreter_options() -> List[str]:
    from subprocess import _args_from_interpreter_flags  # type: ignore[attr-defined]
    return list(_args_from_interpreter_flags())


def run_as_rank() -> None:
    """The program of a rank."""
    global _is_preparing  # pylint: disable=global-statement
    import pickle
    from multiprocessing import spawn as preparation
    data, size = c_void_p(), c_size_t()
    if library().spawned_arguments(byref(data), byref(size)):
        library().raise_last_error()
    prepared, call = pickle.loads(string_at(data, size.value))
    try:
        _is_preparing = True
        preparation.prepare(prepared)
        function, args = pickle.loads(call)
        _is_preparing = False
        result = pickle.dumps(function(*args))
    except Exception as error:  # pylint: disable=broad-except
        _leave(error)
        sys.exit(1)
    if library().spawned_result(result, len(result)):
        library().raise_last_error()


def _leave(error: Exception) -> None:
    """For the process that called spawn(): the failure is written last, as it reads the rest when that is there."""
    import pickle
    import traceback
    path = c_char_p()
    if library().spawned_folder(byref(path)):
        library().raise_last_error()
    folder = _path_of(path)
    rank = os.environ.get("PADDLE_TRAINER_ID", "0")
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    (folder / f"traceback.{rank}").write_text(text, encoding="utf-8")
    try:
        (folder / f"exception.{rank}").write_bytes(pickle.dumps(error))
    except Exception:  # pylint: disable=broad-except
        pass  # the traceback is there
    kind = type(error).__name__
    message = f"{kind}: {error}".splitlines()[0]
    library().spawned_failure(kind.encode(), message.encode(errors="replace"))
