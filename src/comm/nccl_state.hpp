// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

/// What a rank does next that waits for NCCL: pure.
namespace dtrain::comm {

enum class NcclState : std::uint8_t {
    done,
    in_progress,
    refused,  ///< the communicator is as before (ncclInvalidArgument)
    failed
};

/// What NCCL or the GPU said.
struct NcclAnswer {
    NcclState state = NcclState::done;
    int code = 0;        ///< ncclResult_t
    std::string reason;  ///< for people
};

/// The communicator is being made, an operation handed over to NCCL, or to a graph, done by the GPU, the
/// communicator ended.
enum class NcclPhase : std::uint8_t { joining, issuing, capturing, running, leaving };

/// What a rank that waits sees.
struct NcclPoll {
    NcclState nccl = NcclState::done;        ///< ncclCommGetAsyncError
    NcclState gpu = NcclState::in_progress;  ///< the operation's event, while it is running
    bool others_gave_up = false;
    std::chrono::duration<double> waited{};
    std::chrono::duration<double> deadline{};  ///< 0 is none
};

enum class NcclNext : std::uint8_t {
    wait,
    go_on,    ///< the phase is over
    refuse,   ///< this operation is not done, others are
    fail,     ///< tell the others, abort
    give_up,  ///< the others have failed or do not come: abort
};

/// Its own failure counts before what others say, and what is complete is complete.
NcclNext next_of(NcclPhase phase, const NcclPoll& polled);

/// How long who has waited so long sleeps before it looks again; 0: lets only others have the processor.
std::chrono::microseconds nccl_sleep(std::chrono::duration<double> waited);

/// NCCL's words for an ncclResult_t, as they are for a code that another rank sent.
std::string_view nccl_text(int code);

}  // namespace dtrain::comm
