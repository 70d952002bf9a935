# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Horovod's elastic training is not done by dtrain: what a script calls says so, and what to do."""
from __future__ import annotations

from typing import Any, NoReturn


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(f"hvd.elastic.{what}: dtrain starts all ranks anew when a node comes or goes: save a checkpoint "
                              "now and then, load the last one at the start, and start the job by dtrain-launch with "
                              "--max_restart, or with --elastic_server where nodes come and go (docs/elastic.md)")


def run(func: Any) -> Any:
    """Raises NotImplementedError."""
    _refuse("run")


class TorchState:
    """Raises NotImplementedError."""

    def __init__(self, *_args: Any, **_kwargs: Any):
        _refuse("TorchState")


class ElasticSampler:
    """Raises NotImplementedError."""

    def __init__(self, *_args: Any, **_kwargs: Any):
        _refuse("ElasticSampler")
