// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Programs of users of spawn(), chosen by the first argument; tests/jobs/test_spawn.py says what they must
// do.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <dtrain/mpi_session.hpp>
#include <dtrain/parallel_env.hpp>
#include <dtrain/spawn.hpp>

namespace {

using Strings = std::vector<std::string>;

dtrain::SpawnOptions on_cpu(int nprocs, bool join = true) {
    return {.nprocs = nprocs, .backend = "gloo", .join = join};
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "-";
}

void print_rank() {
    const dtrain::ParallelEnv env(0, nullptr);
    std::printf("rank %d of %d\n", env.rank(), env.world_size());
}

void print_arguments(bool flag, const std::string& text, const std::vector<double>& numbers) {
    std::printf("%s '%s' %zu %g\n", flag ? "true" : "false", text.c_str(), numbers.size(), numbers.back());
}

double sum_of_ranks(double factor) {
    const dtrain::ParallelEnv env(0, nullptr);
    return factor * static_cast<double>(env.communicator().sum(std::int64_t{env.rank()} + 1)) + env.rank();
}

void print_gpus() {
    std::printf("sees %s, uses %s\n", variable("CUDA_VISIBLE_DEVICES").c_str(),
                variable("FLAGS_selected_gpus").c_str());
}

int trainer_id() {
    return std::atoi(variable("PADDLE_TRAINER_ID").c_str());
}

void fail_on_rank_1(const std::string& how) {
    if (how == "throws in a world") {
        const dtrain::ParallelEnv env(0, nullptr);
        if (env.rank() == 1) throw std::runtime_error("the learning rate is lost");
        env.communicator().barrier();
        return;
    }
    if (trainer_id() == 1) {
        if (how == "throws") throw std::runtime_error("the learning rate is lost");
        if (how == "throws a number") throw 7;
        if (how == "is killed") std::raise(SIGSEGV);
        if (how == "exits") std::_Exit(5);
    }
    std::this_thread::sleep_for(std::chrono::seconds(60));
}

int report(const std::function<void()>& action) {
    try {
        action();
        return 0;
    } catch (const dtrain::SpawnError& failed) {
        std::fprintf(stderr, "caught: rank %d: %s\n", failed.rank(), failed.what());
        return 3;
    } catch (const dtrain::UsageError& refused) {
        std::fprintf(stderr, "refused: %s\n", refused.what());
        return 2;
    }
}

void wait_for_file(const std::string& path) {
    std::ofstream(path + variable("PADDLE_TRAINER_ID")).close();
    while (!std::ifstream(path)) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

/// A second call whose ranks run main() up to it, and so through the first.
void two_calls() {
    const auto first = dtrain::spawn(sum_of_ranks, std::tuple(1), on_cpu(2)).results();
    try {
        dtrain::spawn(fail_on_rank_1, std::tuple("exits"), on_cpu(2));
    } catch (const dtrain::SpawnError& failed) {
        const auto captured = first.at(1) + failed.rank();
        auto second = dtrain::spawn([captured](int x) { return captured + x; }, std::tuple(10), on_cpu(2));
        std::printf("results %g\n", second.results().at(0));
    }
}

void handle() {
    auto ranks = dtrain::spawn(
        [](const std::string& path) {
            wait_for_file(path);
            return trainer_id() * 10;
        },
        std::tuple("go"), on_cpu(2, false));
    std::printf("%d ranks, joined at once: %d\n", ranks.nprocs(), ranks.join(std::chrono::milliseconds(300)));
    std::ofstream("go").close();
    const auto results = ranks.results();
    std::printf("joined: %d, results %d %d\n", ranks.join(), results.at(0), results.at(1));
}

void dropped() {
    {
        auto ranks = dtrain::spawn(wait_for_file, std::tuple("never"), on_cpu(2, false));
        while (!std::ifstream("never0") || !std::ifstream("never1"))
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::printf("gone\n");
}

/// A call that is refused, and one that is not.
void calls_in_and_behind_an_env() {
    std::optional<dtrain::ParallelEnv> env;
    if (!dtrain::is_spawned_rank()) env.emplace(0, nullptr);
    try {
        dtrain::spawn(print_rank, on_cpu(2));
    } catch (const dtrain::UsageError&) {
        std::printf("refused\n");
        env.reset();
        dtrain::spawn(print_rank, on_cpu(2));
    }
}

const std::map<std::string, std::function<void()>> scenarios{
    {"cores", [] { dtrain::spawn(print_rank); }},
    {"two", [] { dtrain::spawn(print_rank, {.nprocs = 2}); }},
    {"arguments",
     [] {
         dtrain::spawn(print_arguments, std::tuple(true, "a b\n c", std::vector<double>{1, 0.1}), on_cpu(1));
     }},
    {"results",
     [] {
         for (const auto result : dtrain::spawn(sum_of_ranks, std::tuple(100), on_cpu(3)).results())
             std::printf("result %g\n", result);
     }},
    {"gpus", [] { dtrain::spawn(print_gpus, {.nprocs = 2, .gpus = "6,5"}); }},
    {"first gpus", [] { dtrain::spawn(print_gpus, {.nprocs = 2}); }},
    {"all gpus", [] { dtrain::spawn(print_gpus); }},
    {"no gpus", [] { dtrain::spawn(print_gpus, on_cpu(1)); }},
    {"too many", [] { dtrain::spawn(print_gpus, {.nprocs = 9}); }},
    {"nested", [] { dtrain::spawn([] { dtrain::spawn(print_rank, on_cpu(1)); }, on_cpu(1)); }},
    {"in an env",
     [] {
         const dtrain::ParallelEnv env(0, nullptr);
         dtrain::spawn(print_rank, on_cpu(2));
     }},
    {"in a session",
     [] {
         const dtrain::MpiSession session;
         dtrain::spawn(print_rank, on_cpu(2));
     }},
    {"in and behind an env", calls_in_and_behind_an_env},
    {"behind an env",
     [] {
         { const dtrain::ParallelEnv env(0, nullptr); }
         dtrain::spawn(print_rank, on_cpu(2));
     }},
    {"unreached",
     [] {
         if (!dtrain::is_spawned_rank()) dtrain::spawn(print_rank, on_cpu(2));
     }},
    {"calls", two_calls},
    {"handle", handle},
    {"dropped", dropped},
    {"logs", [] { dtrain::spawn(print_rank, {.nprocs = 2, .backend = "gloo", .log_dir = "ranks"}); }},
};

}  // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "";
    if (const auto found = scenarios.find(name); found != scenarios.end()) return report(found->second);
    return report([&] { dtrain::spawn(fail_on_rank_1, std::tuple(name), on_cpu(2)); });
}
