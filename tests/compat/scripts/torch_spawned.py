# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Starts a script's main() on ranks by torch.multiprocessing.spawn().

    torch_spawned.py RANKS SCRIPT ARGUMENT..."""
import os
import runpy
import socket
import sys

import torch.multiprocessing


def rank_of(rank, ranks, port, words):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        free_port = free.getsockname()[1]
    torch.multiprocessing.spawn(rank_of, (int(sys.argv[1]), free_port, sys.argv[2:]), nprocs=int(sys.argv[1]))
