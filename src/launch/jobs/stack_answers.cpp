// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/stack_answers.hpp"

#include <chrono>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "launch/jobs/control_client.hpp"

namespace dtrain::launch {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds workers_limit{60'000};  // the workers' own limit is 12 s, after which they only ask
                                               // the kernel

}  // namespace

StackAnswers ask_for_stacks(const JobRecord& record) {
    StackAnswers out;
    ControlClient client(record, "stacks");
    const auto deadline = Clock::now() + workers_limit;
    while (!out.complete) {
        const auto line = client.read_line(std::chrono::ceil<milliseconds>(deadline - Clock::now()));
        if (!line) break;
        const auto told = Json::parse(*line);
        out.complete = told.contains("end");
        if (out.complete) break;
        const auto rank = told.at("rank").get<int>();
        out.of_ranks[rank] = {.rank = rank,
                              .host = told.at("host").get<std::string>(),
                              .file = told.at("file").get<std::string>(),
                              .text = told.at("text").get<std::string>(),
                              .state = told.value("state", "")};
    }
    return out;
}

bool report_silent_ranks(const JobView& view, const StackAnswers& answers, const cluster::RankList& ranks) {
    std::vector<int> silent;
    for (const auto& rank : view.ranks) {
        const bool lives = rank.state == "running" || rank.state == "idle" || rank.state == "starting";
        if (lives && ranks.contains(rank.rank) && !answers.of_ranks.contains(rank.rank))
            silent.push_back(rank.rank);
    }
    if (silent.empty()) return false;
    write_all(STDERR_FILENO,
              fmt::format("dtrain-launch: {} did not tell where they are{}: {}\n",
                          silent.size() == 1 ? "one rank" : fmt::format("{} ranks", silent.size()),
                          answers.complete ? "" : " in time", fmt::join(silent, ",")));
    return true;
}

}  // namespace dtrain::launch
