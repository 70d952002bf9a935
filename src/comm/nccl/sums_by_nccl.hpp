// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/communicator.hpp>

/// What ranks need before NCCL adds the gradients that they compute on GPUs.
namespace dtrain::comm {

/// NCCL sums only memory of GPUs. Collective.
/// @param computes_on_gpu whether this rank does
/// @throws UsageError on all ranks if some do and some do not
void check_all_or_none_compute_on_gpus(bool computes_on_gpu, const Communicator& ranks);

/// A communicator over NCCL for gradients that are computed in this stream. Collective.
/// @param gpu its number among the GPUs that this process sees @param stream a cudaStream_t of it
/// @throws UsageError on all ranks if NCCL is not available, since gradients can be summed without it;
/// NcclError
Communicator over_nccl(const Communicator& ranks, int gpu, void* stream);

}  // namespace dtrain::comm
