// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/stack_answers.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "launch/jobs/control_client.hpp"
#include "trace/hang_diagnosis.hpp"

namespace dtrain::launch {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// More than the workers take until they only ask the kernel: 12 s for records, 38 s for tools.
constexpr milliseconds workers_limit{60'000};

constexpr std::size_t max_quoted = 80;

/// A line of the launcher's answer: a rank's, or none when all have answered.
using AnswerLine = std::optional<StackAnswer>;

AnswerLine answer_line(const Json& line) {
    if (line.contains("end")) return std::nullopt;
    return StackAnswer{.rank = line.at("rank").get<int>(),
                       .host = line.at("host").get<std::string>(),
                       .file = line.at("file").get<std::string>(),
                       .text = line.at("text").get<std::string>(),
                       .state = line.value("state", "")};
}

}  // namespace

StackAnswers ask_for_stacks(const JobRecord& record, const JobView& view) {
    std::set<int> known;
    for (const auto& rank : view.ranks) known.insert(rank.rank);
    StackAnswers out;
    ControlClient client(record, "stacks");
    const auto deadline = Clock::now() + workers_limit;
    while (!out.complete && Clock::now() < deadline) {
        const auto line = client.read_line(std::chrono::ceil<milliseconds>(deadline - Clock::now()));
        if (!line) {
            out.launcher_ended = client.ended();
            break;
        }
        auto answer = read_json(*line, answer_line);
        if (!answer)
            throw Error(fmt::format("the launcher of {} answers with what are no stacks: {}", record.job,
                                    one_line(*line, max_quoted)));
        out.complete = !answer->has_value();
        if (answer->has_value() && known.contains((*answer)->rank))
            out.of_ranks[(*answer)->rank] = std::move(**answer);
    }
    return out;
}

std::vector<trace::RankState> states_of(const JobView& view, const StackAnswers& answers) {
    std::vector<trace::RankState> states;
    for (const auto& rank : view.ranks) {
        trace::RankState state;
        if (const auto answer = answers.of_ranks.find(rank.rank); answer != answers.of_ranks.end())
            state = trace::parse_rank_state(answer->second.state).value_or(trace::RankState());
        state.rank = rank.rank;
        if (state.host.empty()) state.host = rank.host;
        if (!is_alive(rank)) state.activity = trace::Activity::has_ended;
        if (has_not_started(rank)) state.activity = trace::Activity::has_not_started;
        states.push_back(std::move(state));
    }
    return states;
}

std::optional<std::string> unstarted_ranks(const JobView& view) {
    if (std::ranges::none_of(view.ranks, has_not_started)) return std::nullopt;
    return trace::diagnose_hang(states_of(view, {})).culprit;
}

bool report_silent_ranks(const JobView& view, const StackAnswers& answers, const cluster::RankList& ranks) {
    std::vector<int> silent;
    for (const auto& rank : view.ranks) {
        if (is_alive(rank) && ranks.contains(rank.rank) && !answers.of_ranks.contains(rank.rank))
            silent.push_back(rank.rank);
    }
    if (silent.empty()) return false;
    const auto who = silent.size() == 1 ? "one rank did not tell where it is"
                                        : fmt::format("{} ranks did not tell where they are", silent.size());
    const auto* const why = answers.complete         ? ""
                            : answers.launcher_ended ? ", as the launcher ended meanwhile"
                                                     : " in time";
    write_all(STDERR_FILENO, fmt::format("dtrain-launch: {}{}: {}\n", who, why, fmt::join(silent, ",")));
    return true;
}

}  // namespace dtrain::launch
