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
#include "launch/control_client.hpp"
#include "launch/job_commands.hpp"

namespace dtrain::launch {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds workers_limit{60'000};  // the workers' own limit is 30 s, after which they only ask
                                               // the kernel

/// Formats the answer of a rank.
std::string shown(const Json& told) {
    const auto rank = told.at("rank").get<int>();
    const auto host = told.at("host").get<std::string>();
    const auto file = told.at("file").get<std::string>();
    auto text = told.at("text").get<std::string>();
    if (file.empty()) return fmt::format("rank {} on {} is just ending\n\n", rank, host);
    if (text.empty() && host == host_name()) text = read_file(file).value_or("");
    if (text.empty())
        text = fmt::format("they are in {} on {}, which cannot be seen from here\n", file, host);
    return fmt::format("---- rank {} on {}\n{}{}\n", rank, host, text, text.ends_with('\n') ? "" : "\n");
}

struct StackAnswers {
    std::map<int, std::string> of_ranks;
    bool complete = false;
};

StackAnswers all_answers(const JobRecord& record) {
    StackAnswers out;
    ControlClient client(record, "stacks");
    const auto deadline = Clock::now() + workers_limit;
    while (!out.complete) {
        const auto line = client.read_line(std::chrono::ceil<milliseconds>(deadline - Clock::now()));
        if (!line) break;
        const auto told = Json::parse(*line);
        out.complete = told.contains("end");
        if (!out.complete) out.of_ranks[told.at("rank").get<int>()] = shown(told);
    }
    return out;
}

}  // namespace

int show_stacks(const JobRecord& record, const cluster::RankList& ranks) {
    ::signal(SIGPIPE, SIG_IGN);
    const auto view = ask_for_view(record, "status");
    if (!view) throw Error(fmt::format("the launcher of {} does not answer", record.job));
    const auto answers = all_answers(record);
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
