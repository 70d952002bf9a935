# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What there is: the questions of Horovod's scripts, with answers for dtrain."""
from __future__ import annotations

import torch
import torch.distributed as dist


def mpi_built() -> bool:
    """True: libdtrain is linked with MPI."""
    return True


def mpi_enabled() -> bool:
    """True if the job's default group is of the back end dtrain."""
    return dist.is_initialized() and "dtrain" in dist.get_backend_config()


def mpi_threads_supported() -> bool:
    """False: one thread at a time may call MPI."""
    return False


def gloo_built() -> bool:
    """True if torch has gloo."""
    return bool(dist.is_gloo_available())


def gloo_enabled() -> bool:
    """True if the job's default group is of gloo."""
    return dist.is_initialized() and "gloo" in dist.get_backend_config()


def nccl_built() -> int:
    """The version of torch's NCCL as a number (22703 for 2.27.3); 0 if torch has none, or no GPU is there."""
    if not (torch.cuda.is_available() and dist.is_nccl_available()):
        return 0
    major, minor, patch = torch.cuda.nccl.version()[:3]
    return int(major * 10000 + minor * 100 + patch)


def cuda_built() -> bool:
    """True if torch was built with CUDA."""
    return torch.version.cuda is not None


def rocm_built() -> bool:
    """True if torch was built with ROCm."""
    return torch.version.hip is not None


def ddl_built() -> bool:
    """False: IBM's DDL is not used."""
    return False


def ccl_built() -> bool:
    """False: oneCCL is not used."""
    return False
