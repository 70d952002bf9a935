// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/host.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "launch/jobs/control_client.hpp"
#include "launch/jobs/job_commands.hpp"

namespace dtrain::launch {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds workers_limit{60'000};  // the workers' own limit is 30 s, after which they only ask
                                               // the kernel
constexpr std::size_t max_quoted = 80;

/// A line of the launcher's answer.
struct Told {
    int rank = -1;     ///< -1: all have answered
    std::string text;  ///< formatted
};

Told told_by(const Json& told) {
    if (told.contains("end")) return {};
    const auto rank = told.at("rank").get<int>();
    const auto host = told.at("host").get<std::string>();
    const auto file = told.at("file").get<std::string>();
    auto text = told.at("text").get<std::string>();
    if (file.empty()) return {rank, fmt::format("rank {} on {} is just ending\n\n", rank, host)};
    if (text.empty() && host == host_name()) text = read_file(file).value_or("");
    if (text.empty())
        text = fmt::format("they are in {} on {}, which cannot be seen from here\n", file, host);
    const auto* end = text.ends_with('\n') ? "" : "\n";
    return {rank, fmt::format("---- rank {} on {}\n{}{}\n", rank, host, text, end)};
}

struct StackAnswers {
    std::map<int, std::string> of_ranks;
    bool complete = false;
};

StackAnswers all_answers(const JobRecord& record, const std::set<int>& known) {
    StackAnswers out;
    ControlClient client(record, "stacks");
    const auto deadline = Clock::now() + workers_limit;
    while (!out.complete && Clock::now() < deadline) {
        const auto line = client.read_line(std::chrono::ceil<milliseconds>(deadline - Clock::now()));
        if (!line) break;
        auto told = read_json(*line, told_by);
        if (!told)
            throw Error(fmt::format("the launcher of {} answers with what are no stacks: {}", record.job,
                                    one_line(*line, max_quoted)));
        out.complete = told->rank < 0;
        if (known.contains(told->rank)) out.of_ranks[told->rank] = std::move(told->text);
    }
    return out;
}

}  // namespace

int show_stacks(const JobRecord& record, const cluster::RankList& ranks) {
    ::signal(SIGPIPE, SIG_IGN);
    const auto view = ask_for_view(record, "status");
    if (!view) throw Error(fmt::format("the launcher of {} does not answer", record.job));
    std::set<int> known;
    for (const auto& rank : view->ranks) known.insert(rank.rank);
    const auto answers = all_answers(record, known);
    for (const auto& [rank, text] : answers.of_ranks)
        if (ranks.contains(rank)) write_all(STDOUT_FILENO, text);
    std::vector<int> silent;
    for (const auto& rank : view->ranks) {
        const bool lives = rank.state == "running" || rank.state == "idle" || rank.state == "starting";
        if (lives && ranks.contains(rank.rank) && !answers.of_ranks.contains(rank.rank))
            silent.push_back(rank.rank);
    }
    if (silent.empty()) return 0;
    write_all(STDERR_FILENO,
              fmt::format("dtrain-launch: {} did not tell where they are{}: {}\n",
                          silent.size() == 1 ? "one rank" : fmt::format("{} ranks", silent.size()),
                          answers.complete ? "" : " in time", fmt::join(silent, ",")));
    return 1;
}

}  // namespace dtrain::launch
