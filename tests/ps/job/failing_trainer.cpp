// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program that test_failing_ranks.py starts under mpirun: one server, and trainers of which the last
// throws.
//   failing_trainer uncaught|caught|handled
#include <string>

#include <fmt/format.h>

#include <dtrain/parameter_servers.hpp>

#include "linear_job.hpp"

namespace {

using namespace dtrain;

void train(const ServerRanks& ranks, const DistributeTranspiler& transpiler) {
    ServerConnection connection(ranks, transpiler, {});
    const auto program = transpiler.get_trainer_program();
    const State state(program, 1);
    connection.pull_parameters(state);
    Executor executor(program, state, {}, {.threads = 1, .servers = connection.link()});
    const bool fails = ranks.number() == ranks.trainers() - 1;
    for (int step = 0; !fails || step < 3; ++step) executor.run();
    throw Error("its own words");
}

void body(const MpiSession& session) {
    const ServerRanks ranks(session.world(), 1);
    const auto transpiler = transpiled(ranks, linear_program(), ServerMode::sync);
    if (ranks.serves())
        serve(ranks, transpiler, {});
    else
        train(ranks, transpiler);
}

int report(const MpiSession* session, const Error& error) {
    fmt::print("<{}> {}\n", session != nullptr ? session->world().rank() : 2, error.what());
    std::fflush(stdout);
    return 1;
}

int handled() {
    const MpiSession session;
    try {
        body(session);
    } catch (const Error& error) {
        return report(&session, error);
    }
    return 0;
}

void uncaught() {
    const MpiSession session;
    body(session);
}

}  // namespace

int main(int, char** argv) {
    const std::string how = argv[1];
    if (how == "handled") return handled();
    if (how == "uncaught") uncaught();
    try {
        uncaught();
    } catch (const Error& error) {
        return report(nullptr, error);
    }
    return 0;
}
