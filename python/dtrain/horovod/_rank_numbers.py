# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Where ranks are: their numbers on their nodes, and across them."""
from __future__ import annotations

from typing import Hashable, List, NamedTuple


class RankNumbers(NamedTuple):
    """Of a rank."""

    local_rank: int  #: among the ranks of its node
    local_size: int  #: ranks of its node
    cross_rank: int  #: among the ranks with this local rank
    cross_size: int  #: ranks with this local rank
    is_homogeneous: bool  #: all nodes have the same number of ranks


def numbers_of(rank: int, nodes: List[Hashable]) -> RankNumbers:
    """@param nodes of each rank, by whatever is the same for ranks of one node"""
    local_ranks = [nodes[:other].count(node) for other, node in enumerate(nodes)]
    alike = [other for other, local_rank in enumerate(local_ranks) if local_rank == local_ranks[rank]]
    return RankNumbers(local_ranks[rank], nodes.count(nodes[rank]), alike.index(rank), len(alike),
                       len({nodes.count(node) for node in nodes}) == 1)
