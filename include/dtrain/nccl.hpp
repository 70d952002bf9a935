// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/comm_error.hpp>
#include <dtrain/communicator.hpp>

namespace dtrain {

/// NCCL is not built in, refuses, or has failed. After a failure on some rank all ranks that wait throw it,
/// and nothing but leaving is possible, as after a CommunicatorTimeout.
class NcclError : public Error {
  public:
    explicit NcclError(const std::string& message, std::vector<MissingRank> failed = {})
        : Error(message), failed_(std::move(failed)) {}

    /// The ranks on which NCCL or the GPU failed, with NCCL's words; empty when it was no such failure.
    const std::vector<MissingRank>& failed() const { return failed_; }

  private:
    std::vector<MissingRank> failed_;
};

/// NCCL cannot be used here at all: not built in, or some rank has no driver or no such GPU.
class NcclUnavailable : public NcclError {
  public:
    using NcclError::NcclError;
};

/// How nccl_communicator() makes a communicator. All but `device` and `stream` are the same on all ranks.
struct NcclOptions {
    /// What NCCL's log calls it; "" is the job's id (DTRAIN_JOB_ID) and "world".
    std::string name = {};

    /// Number of a GPU that this process sees. Otherwise that of FLAGS_selected_gpus, as dtrain-launch --gpus
    /// sets it; without it the only GPU, or the one with this rank's number on its node.
    std::optional<int> device = {};

    /// How many ids the ranks meet by; 0: one for each 256 ranks. More than one needs NCCL 2.23.4:
    /// with an older one 0 is one, and more are an NcclError.
    int ids = 0;

    /// A cudaStream_t of `device`: an operation begins when what was put into it before has been done. Null
    /// is CUDA's default stream. Operations have a stream of their own, so that they go on beside what is put
    /// into this one later.
    void* stream = nullptr;

    /// How long ncclCommAbort may take after a failure.
    std::chrono::milliseconds abort_within{10'000};
};

/// The ranks of `over_mpi`, with operations by NCCL on memory of GPUs: one rank per GPU. Collective.
///
/// Spans given to its operations are memory of this rank's GPU (or managed by CUDA) on all ranks, or memory
/// of the host on all of them, which goes over MPI. Complete is an operation when the GPU has done it, so
/// that whoever waited may use the result in any stream. Sums have NCCL's order and rounding: float16 and
/// bfloat16 are added as such. Messages have no tags (tag 0 alone), and are in one order with the other
/// operations; those that were started go together when one of them is tested or waited for. allocate()
/// gives memory of the GPU that NCCL knows (ncclMemAlloc, ncclCommRegister), of which a rank reaches its own
/// part alone. reduce_shares() does not exist. split() and duplicate() make communicators of this kind.
///
/// Deadline and errors are those of `over_mpi` (DTRAIN_COMM_TIMEOUT, CommunicatorTimeout).
/// @throws NcclUnavailable on all ranks: built without CUDA, no GPU for some rank; NcclError: NCCL refuses
Communicator nccl_communicator(const Communicator& over_mpi, const NcclOptions& options = {});

}  // namespace dtrain
