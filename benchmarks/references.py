# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What peers made on other virtual machines with two cores, in the unit of their cases: a peer that is far from it here was
not well set up, or the machine is not quiet. Intel Xeon with AVX-512 unless said otherwise; paddlepaddle 3.3.1, torch 2.15,
Open MPI 4.1.4, float32."""

# Steps a second of a rank, one thread each.
MLP = {
    ("small", "torch"): 700, ("small", "torch-fused"): 965, ("small", "torch-compile"): 770, ("small", "paddle"): 730,
    ("small", "paddle-static"): 560, ("small", "torch-ddp"): 245, ("small", "torch-mpi"): 540, ("small", "paddle-ddp"): 155,
    ("big", "torch"): 26, ("big", "torch-fused"): 31, ("big", "torch-compile"): 35, ("big", "paddle"): 28.5,
    ("big", "paddle-static"): 27, ("big", "torch-ddp"): 15, ("big", "torch-mpi"): 20, ("big", "paddle-ddp"): 19,
}

# Calls a second of MPI_Allreduce on two ranks, by bytes.
ALLREDUCE = {
    4 << 10: 1e6 / 3.8, 16 << 10: 1e6 / 13.1, 64 << 10: 1e6 / 28.3, 256 << 10: 1e6 / 64.9, 1 << 20: 1e6 / 239, 4 << 20: 1e6 / 769,
    16 << 20: 1e6 / 5342, 64 << 20: 1e6 / 40914,
}

# MB a second of dd bs=4M conv=fsync.
DD = 1450

# Million ids a second by optimizer, floats a row, ids a request: a server of nothing but MPI, on an AMD EPYC.
BARE_SERVER = {("sgd", 16, 1024, "pull"): 38.7, ("sgd", 16, 1024, "push"): 27.4}

# The same of torch's EmbeddingBag(sparse=True) and its optimizer, a pull and a push together.
EMBEDDING_BAG = {("sgd", 16, 1024): 4.05, ("sgd", 16, 16384): 6.18}
