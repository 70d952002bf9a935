// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/operation_log_format.hpp"

namespace dtrain::trace {

/// An operation of a rank, when its worker looked.
struct Operation {
    OperationKind kind = OperationKind::collective;
    std::string group = {};      ///< name of the communicator or process group
    std::uint64_t number = 0;    ///< collective and own_gpu: the how-manieth of its group; else 0
    std::string name = {};       ///< "all_reduce"
    std::string type = {};       ///< of elements, "float32"; "": unknown
    std::string reduction = {};  ///< "sum"; "": none
    std::string source = {};     ///< the program's line that called it, "train.py:88"; "": unknown
    std::optional<std::uint64_t> count = {};  ///< elements; none: unknown, or each rank may have another one
    int peer = -1;                            ///< root, destination or source, as a rank of the job; -1: none
    int tag = 0;
    bool has_ended = false;
    std::optional<std::chrono::milliseconds> waited =
        {};  ///< how long the rank had waited for it; none: it did not

    friend bool operator==(const Operation&, const Operation&) = default;
};

/// Whether any of them has not ended.
bool any_goes_on(const std::vector<Operation>& operations);

/// A communicator or process group that a rank is in.
struct Group {
    std::string name = {};
    std::uint64_t last_number = 0;  ///< of the rank's last collective operation there; 0: none
    std::vector<int> members = {};  ///< ranks of the job; empty: its first `size` ranks
    int size = 0;

    friend bool operator==(const Group&, const Group&) = default;
};

/// A process as NCCL names it: an address of its node, and its pid.
struct NcclProcess {
    std::string host = {};
    int pid = 0;

    friend bool operator==(const NcclProcess&, const NcclProcess&) = default;
};

/// How many operations of a kind a rank has launched in a communicator of NCCL, where its ranks differ.
struct NcclCount {
    std::string kind = {};         ///< "AllReduce"; "operation": of all kinds together
    std::uint64_t launched = 0;    ///< by this rank
    std::uint64_t most = 0;        ///< by any rank
    int unnamed = 0;               ///< how many ranks NCCL has told a common number of, but not who they are
    std::uint64_t by_unnamed = 0;  ///< that number

    friend bool operator==(const NcclCount&, const NcclCount&) = default;
};

/// A communicator of NCCL that a rank is in, or was.
struct NcclMembership {
    std::string communicator = {};  ///< NCCL's number of it, "0xcf264af53edbe986"
    int size = 0;                   ///< ranks of the communicator
    bool has_left = false;          ///< it finalizes the communicator, has destroyed or aborted it
    std::vector<NcclCount> counts = {};

    friend bool operator==(const NcclMembership&, const NcclMembership&) = default;
};

/// What NCCL's RAS threads tell of a rank.
struct NcclView {
    NcclProcess self = {};  ///< the rank's process; pid 0: they do not name it
    std::vector<NcclMembership> memberships = {};
    std::vector<NcclProcess> dead = {};  ///< processes that they have not reached for long

    bool empty() const { return self.pid == 0 && memberships.empty() && dead.empty(); }
    friend bool operator==(const NcclView&, const NcclView&) = default;
};

/// What a rank's processes did when its worker looked.
enum class Activity {
    unknown,
    sleeps,        ///< used no processor
    computes,      ///< used the processor
    is_stopped,    ///< by a signal such as SIGSTOP, or as `held_by` says
    is_in_kernel,  ///< in an uninterruptible system call (state D)
    has_ended,
    has_not_started,
};

/// What is known of a rank of a job that may hang.
struct RankState {
    int rank = 0;
    std::string host = {};
    int pid = 0;
    Activity activity = Activity::unknown;
    std::string file = {};  ///< that an uninterruptible system call is about; "": unknown
    /// What has stopped it, if that is no signal: "held by a debugger (gdb, pid 77)".
    std::string held_by = {};
    /// Calls of the main thread, the innermost first: "all_reduce (distributed_c10d.py:2700)".
    std::vector<std::string> stack = {};
    std::vector<Group> groups = {};
    std::vector<Operation> operations = {};  ///< the last of each group, the oldest first, and all that go on
    NcclView nccl = {};                      ///< of a rank without records

    /// Its worker has told something of it.
    bool is_known() const {
        return activity != Activity::unknown || !stack.empty() || !groups.empty() || !operations.empty() ||
               !nccl.empty();
    }

    friend bool operator==(const RankState&, const RankState&) = default;
};

/// As JSON on one line of ASCII.
std::string to_json(const RankState& state);
/// The same in at most `max` bytes: without the oldest operations that have ended, the outermost calls,
/// groups of which no operation is left, and communicators of NCCL.
std::string to_json(RankState state, std::size_t max);
/// Nothing if the text is no such state.
std::optional<RankState> parse_rank_state(std::string_view text);

}  // namespace dtrain::trace
