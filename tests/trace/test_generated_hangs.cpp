// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: jobs are played whose ranks all do the same but for one fault in one rank; the diagnosis must name
// that rank and that kind of fault.
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/hang_diagnosis.hpp"

namespace dtrain::trace {
namespace {

using Cause = HangDiagnosis::Cause;
using Random = std::mt19937_64;

int below(Random& random, int limit) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(limit));
}

/// A call of a played program, before it has a number.
struct PlayedCall {
    Operation operation;
    std::vector<int> members;

    friend bool operator==(const PlayedCall&, const PlayedCall&) = default;
};

using Program = std::vector<PlayedCall>;

/// Steps of one loop: each has the same calls in the same order, as training has.
Program loop_of(Random& random, int ranks, int steps) {
    std::vector<int> all, even, odd;
    for (int rank = 0; rank < ranks; ++rank) {
        all.push_back(rank);
        (rank % 2 == 0 ? even : odd).push_back(rank);
    }
    const std::vector<std::string> names{"all_reduce", "broadcast", "all_gather", "reduce_scatter"};
    Program step;
    const int calls = 2 + below(random, 3);
    for (int call = 0; call < calls; ++call) {
        const int kind = ranks > 3 ? below(random, 3) : 0;
        const auto& name = names[static_cast<std::size_t>(below(random, 4))];
        step.push_back({.operation = {.group = kind == 0 ? "world" : "half",
                                      .name = name,
                                      .type = "float32",
                                      .source = fmt::format("train.py:{}", 10 + call),
                                      .count = 1U << static_cast<unsigned>(below(random, 12)),
                                      .peer = name == "broadcast" ? 0 : -1},
                        .members = kind == 0   ? all
                                   : kind == 1 ? even
                                               : odd});
    }
    Program program;
    for (int each = 0; each < steps; ++each) program.insert(program.end(), step.begin(), step.end());
    return program;
}

bool is_in(const PlayedCall& call, int rank) {
    return std::ranges::find(call.members, rank) != call.members.end();
}

Program part_of(const Program& program, int rank) {
    Program own;
    for (const auto& call : program)
        if (is_in(call, rank)) own.push_back(call);
    return own;
}

bool match(const Operation& one, const Operation& other) {
    return one.name == other.name && one.count == other.count && one.type == other.type &&
           one.peer == other.peer;
}

/// Lets ranks run until none can go on.
class Play {
  public:
    explicit Play(std::vector<Program> programs)
        : programs_(std::move(programs)),
          at_(programs_.size(), 0),
          counts_(programs_.size()),
          history_(programs_.size()) {
        for (std::size_t rank = 0; rank < programs_.size(); ++rank) enter(rank);
        while (complete_one()) {
        }
    }

    bool is_over(std::size_t rank) const { return at_[rank] == programs_[rank].size(); }

    /// @param faulty the rank that does `activity` when its program is over
    std::vector<RankState> states(std::size_t faulty, Activity activity) const {
        std::vector<RankState> states;
        for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
            RankState state{.rank = static_cast<int>(rank), .host = "node", .activity = Activity::sleeps};
            if (rank == faulty && is_over(rank)) state.activity = activity;
            std::map<std::string, std::vector<int>> members;
            for (const auto& call : programs_[rank]) members[call.operation.group] = call.members;
            for (const auto& [name, ranks] : members)
                state.groups.push_back({.name = name,
                                        .last_number = number_of(rank, name),
                                        .members = ranks,
                                        .size = static_cast<int>(ranks.size())});
            std::map<std::string, int> kept;
            for (auto each = history_[rank].rbegin(); each != history_[rank].rend(); ++each)
                if (++kept[each->group] <= 10) state.operations.insert(state.operations.begin(), *each);
            if (state.activity == Activity::has_ended)
                state = {.rank = state.rank, .host = "node", .activity = Activity::has_ended};
            states.push_back(std::move(state));
        }
        return states;
    }

  private:
    std::uint64_t number_of(std::size_t rank, const std::string& group) const {
        const auto found = counts_[rank].find(group);
        return found == counts_[rank].end() ? 0 : found->second;
    }

    void enter(std::size_t rank) {
        if (is_over(rank)) return;
        auto operation = programs_[rank][at_[rank]].operation;
        operation.number = ++counts_[rank][operation.group];
        operation.waited = std::chrono::seconds(30);
        history_[rank].push_back(operation);
    }

    bool waits_in(std::size_t rank, const PlayedCall& call, std::uint64_t number) const {
        return !is_over(rank) && programs_[rank][at_[rank]].members == call.members &&
               match(programs_[rank][at_[rank]].operation, call.operation) &&
               history_[rank].back().number == number;
    }

    bool complete_one() {
        for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
            if (is_over(rank)) continue;
            const auto call = programs_[rank][at_[rank]];
            const auto number = history_[rank].back().number;
            const bool all_are_in = std::ranges::all_of(call.members, [&](int member) {
                return waits_in(static_cast<std::size_t>(member), call, number);
            });
            if (!all_are_in) continue;
            for (const int member : call.members) {
                const auto index = static_cast<std::size_t>(member);
                history_[index].back().has_ended = true;
                history_[index].back().waited.reset();
                ++at_[index];
                enter(index);
            }
            return true;
        }
        return false;
    }

    std::vector<Program> programs_;
    std::vector<std::size_t> at_;
    std::vector<std::map<std::string, std::uint64_t>> counts_;
    std::vector<std::vector<Operation>> history_;
};

struct Job {
    std::vector<Program> programs;
    std::size_t faulty = 0;
};

constexpr int steps = 12;

Job healthy_job(Random& random) {
    const int ranks = 2 + below(random, 6);
    const auto program = loop_of(random, ranks, steps);
    Job job{.programs = {}, .faulty = static_cast<std::size_t>(below(random, ranks))};
    for (int rank = 0; rank < ranks; ++rank) job.programs.push_back(part_of(program, rank));
    return job;
}

std::string described(const HangDiagnosis& found, const Job& job, std::uint64_t seed) {
    return fmt::format("seed {}: rank {} of {}: {}", seed, job.faulty, job.programs.size(), found.line());
}

int rounds() {
    return std::getenv("DTRAIN_STRESS") != nullptr ? 20'000 : 400;
}

TEST(GeneratedHangs, WhoStopsCallingIsNamed) {
    int hung = 0;
    for (int seed = 0; seed < rounds(); ++seed) {
        Random random(static_cast<std::uint64_t>(seed));
        auto job = healthy_job(random);
        auto& program = job.programs[job.faulty];
        if (program.size() < 4) continue;
        program.resize(2 + static_cast<std::size_t>(below(random, static_cast<int>(program.size()) - 2)));
        for (const auto activity : {Activity::sleeps, Activity::computes, Activity::is_stopped,
                                    Activity::is_in_kernel, Activity::has_ended}) {
            const Play play(job.programs);
            const auto found = diagnose_hang(play.states(job.faulty, activity));
            if (std::ranges::all_of(job.programs, [&, rank = std::size_t{0}](const auto&) mutable {
                    return play.is_over(rank++);
                }))
                continue;
            ++hung;
            EXPECT_THAT(found.culprits, testing::ElementsAre(static_cast<int>(job.faulty)))
                << described(found, job, static_cast<std::uint64_t>(seed));
        }
    }
    EXPECT_GT(hung, rounds());
}

TEST(GeneratedHangs, WhoSkipsACallIsNamed) {
    int hung = 0;
    for (int seed = 0; seed < rounds(); ++seed) {
        Random random(static_cast<std::uint64_t>(seed));
        auto job = healthy_job(random);
        auto& program = job.programs[job.faulty];
        const auto size = program.size();
        if (size < steps * 2) continue;
        // In the middle, so that the loop has been seen, and so that others still call something.
        const auto at = size / 2 + static_cast<std::size_t>(below(random, 3));
        if (program[at] == program[at + 1]) continue;  // which of two equal calls was skipped nobody can say
        const auto skipped = program[at];
        program.erase(program.begin() + static_cast<std::ptrdiff_t>(at));
        const Play play(job.programs);
        const auto found = diagnose_hang(play.states(job.faulty, Activity::sleeps));
        ++hung;
        EXPECT_THAT(found.culprits, testing::ElementsAre(static_cast<int>(job.faulty)))
            << described(found, job, static_cast<std::uint64_t>(seed)) << "; skipped "
            << to_text(skipped.operation);
    }
    EXPECT_GT(hung, rounds() / 4);
}

TEST(GeneratedHangs, WhoCallsWithOtherArgumentsIsNamed) {
    int hung = 0;
    for (int seed = 0; seed < rounds(); ++seed) {
        Random random(static_cast<std::uint64_t>(seed));
        auto job = healthy_job(random);
        auto& program = job.programs[job.faulty];
        if (program.size() < steps * 2) continue;
        auto& call = program[program.size() / 2];
        if (call.members.size() < 2) continue;
        switch (below(random, 3)) {
            case 0:
                call.operation.count = *call.operation.count + 1;
                break;
            case 1:
                call.operation.type = "float64";
                break;
            default:
                call.operation.name = "barrier";
        }
        ++hung;
        const Play play(job.programs);
        const auto found = diagnose_hang(play.states(job.faulty, Activity::sleeps));
        EXPECT_EQ(found.cause, Cause::sequence) << described(found, job, static_cast<std::uint64_t>(seed));
        EXPECT_THAT(found.culprits, testing::ElementsAre(static_cast<int>(job.faulty)))
            << described(found, job, static_cast<std::uint64_t>(seed));
    }
    EXPECT_GT(hung, rounds() / 4);
}

}  // namespace
}  // namespace dtrain::trace
