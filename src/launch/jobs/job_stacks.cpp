// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/host.hpp"
#include "launch/jobs/control_client.hpp"
#include "launch/jobs/job_commands.hpp"
#include "launch/jobs/stack_answers.hpp"

namespace dtrain::launch {
namespace {

std::string shown(const StackAnswer& answer) {
    if (answer.file.empty()) return fmt::format("rank {} on {} is just ending\n\n", answer.rank, answer.host);
    auto text = answer.text;
    if (text.empty() && answer.host == host_name()) text = read_file(answer.file).value_or("");
    if (text.empty())
        text =
            fmt::format("they are in {} on {}, which cannot be seen from here\n", answer.file, answer.host);
    return fmt::format("---- rank {} on {}\n{}{}\n", answer.rank, answer.host, text,
                       text.ends_with('\n') ? "" : "\n");
}

}  // namespace

int show_stacks(const JobRecord& record, const cluster::RankList& ranks) {
    ::signal(SIGPIPE, SIG_IGN);
    const auto view = ask_for_view(record, "status");
    if (!view) throw Error(fmt::format("the launcher of {} does not answer", record.job));
    if (const auto unstarted = unstarted_ranks(*view))
        write_all(STDERR_FILENO,
                  fmt::format("dtrain-launch: {}; stacks are shown once all have\n", *unstarted));
    const auto answers = ask_for_stacks(record, *view);
    for (const auto& [rank, answer] : answers.of_ranks)
        if (ranks.contains(rank)) write_all(STDOUT_FILENO, shown(answer));
    return report_silent_ranks(*view, answers, ranks) ? 1 : 0;
}

}  // namespace dtrain::launch
