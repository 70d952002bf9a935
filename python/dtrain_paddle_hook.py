# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""When a program imports paddle.distributed, dtrain records from then on what it calls there.

dtrain_paddle_hook.pth calls install() when Python starts, in programs that dtrain-worker has started; so this module imports nothing,
neither of dtrain nor of Python's library, before Paddle is there."""
from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Optional

_MODULE = "paddle.distributed"


class _Loader:
    """Loads as the one that it stands for, which the module has as its own."""

    def __init__(self, loader: Any):
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> Optional[ModuleType]:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _FINDER.remove()
        try:
            from dtrain._paddle_calls import record_calls  # pylint: disable=import-outside-toplevel

            record_calls(module)
        except Exception:  # pylint: disable=broad-exception-caught  # the program goes on, and its stacks must do
            pass


class _Finder:
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if fullname != _MODULE:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find and finder is not self else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec  # type: ignore[no-any-return]
        return None

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)  # type: ignore[arg-type]


_FINDER = _Finder()


def install() -> None:
    if _MODULE not in sys.modules and _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)  # type: ignore[arg-type]
