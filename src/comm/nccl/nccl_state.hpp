// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

/// The next step of a rank that waits for NCCL: pure.
namespace dtrain::comm {

enum class NcclState : std::uint8_t {
    done,
    in_progress,
    refused,  ///< the communicator is unchanged (ncclInvalidArgument)
    failed
};

/// Result of a call of NCCL or the GPU.
struct NcclAnswer {
    NcclState state = NcclState::done;
    int code = 0;        ///< ncclResult_t
    std::string reason;  ///< human-readable
};

/// Creating the communicator; issuing an operation to NCCL; adding it to a graph; executing it on the GPU;
/// ending the communicator.
enum class NcclPhase : std::uint8_t { joining, issuing, capturing, running, leaving };

/// What a waiting rank observes.
struct NcclPoll {
    NcclState nccl = NcclState::done;        ///< ncclCommGetAsyncError
    NcclState gpu = NcclState::in_progress;  ///< the operation's event, while it is running
    bool others_gave_up = false;
    std::chrono::duration<double> waited{};
    std::chrono::duration<double> deadline{};  ///< 0: none
};

enum class NcclNext : std::uint8_t {
    wait,
    go_on,    ///< the phase is over
    refuse,   ///< this operation has failed, the others go on
    fail,     ///< notify the others, abort
    give_up,  ///< the others have failed or do not arrive: abort
};

/// This rank's own failure takes precedence over what others report, and what is complete is complete.
NcclNext next_of(NcclPhase phase, const NcclPoll& polled);

/// How long a rank that has waited for `waited` sleeps before it polls again; 0: it only yields.
std::chrono::microseconds nccl_sleep(std::chrono::duration<double> waited);

/// NCCL's text for an ncclResult_t, also for a code that another rank sent.
std::string_view nccl_text(int code);

}  // namespace dtrain::comm
