// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/environment.hpp>

#include "protocol/rank_list.hpp"
#include "protocol/stream_choice.hpp"

namespace dtrain::cluster {

/// What the ranks of a job that dtrain-run started must know of it.
struct TorchJob {
    std::string role = "default";  ///< ROLE_NAME
    std::string run_id;            ///< TORCHELASTIC_RUN_ID
    int max_restarts = 0;          ///< TORCHELASTIC_MAX_RESTARTS
    StreamChoice redirects;        ///< streams that go into files and not to the console
    StreamChoice tee;              ///< streams that go into files and to the console
    /// Put before each line of tee; ${role_name}, ${local_rank}, ${rank} and ${hostname} are replaced.
    std::string line_prefix;
    RankList shown_local_ranks = RankList::all();  ///< whose output is on the console
    bool virtual_local_rank = false;               ///< each rank sees its own GPU only, and LOCAL_RANK is 0

    void write(Environment& environment) const;
    /// What write() wrote; nothing if dtrain-run did not start this job. @throws UsageError naming the
    /// variable
    static std::optional<TorchJob> read(const Environment& environment);

    friend bool operator==(const TorchJob&, const TorchJob&) = default;
};

/// The folder of a rank's logs, below that of the run: attempt_0/1 for local rank 1.
std::string torch_log_folder(int attempt, int local_rank);
inline constexpr const char* torch_stdout_log = "stdout.log";
inline constexpr const char* torch_stderr_log = "stderr.log";

}  // namespace dtrain::cluster
