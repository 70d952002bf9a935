# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Exceptions of Horovod, as scripts catch them."""
from __future__ import annotations


class HorovodInternalError(RuntimeError):
    """An operation was not carried out: ranks do not agree about it, or one of them is gone."""


class DuplicateNameError(ValueError):
    """An operation of the same name has not begun yet."""
