// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/jobs/job_record.hpp"
#include "launch/jobs/job_view.hpp"
#include "protocol/rank_list.hpp"
#include "trace/rank_state.hpp"

namespace dtrain::launch {

/// What a rank answered when it was asked where it is.
struct StackAnswer {
    int rank = 0;
    std::string host;
    std::string file;   ///< that has its stacks, on its node; "": it is ending
    std::string text;   ///< the stacks, if the launcher may not see that file
    std::string state;  ///< its trace::RankState as JSON; "": not told
};

struct StackAnswers {
    std::map<int, StackAnswer> of_ranks;
    bool complete = false;        ///< every rank that runs has answered
    bool launcher_ended = false;  ///< before all had
};

/// Asks all ranks of a job through its launcher, which runs on this machine; the job goes on.
/// @throws Error if that answers with something else
StackAnswers ask_for_stacks(const JobRecord& record, const JobView& view);

/// What is known of all ranks.
std::vector<trace::RankState> states_of(const JobView& view, const StackAnswers& answers);

/// "rank 1 on node2 has not started"; nothing if all have.
std::optional<std::string> unstarted_ranks(const JobView& view);

/// Says on stderr which of these ranks run and did not answer. @returns whether there are any
bool report_silent_ranks(const JobView& view, const StackAnswers& answers, const cluster::RankList& ranks);

}  // namespace dtrain::launch
