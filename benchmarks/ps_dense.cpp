// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// mpirun -np 2 ps_dense cpu|gpu FLOATS: steps per second of one trainer without computation: it pushes all
// dense gradients to one server, which runs Adam, and pulls all parameters, in sync mode.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <dtrain/communicator.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/transpiler.hpp>

#include "comm/message/transport.hpp"
#include "ps/client/client.hpp"
#include "ps/job/server_plan.hpp"
#include "ps/server/serve.hpp"
#include "steady_rate.hpp"

namespace {

using namespace dtrain;

constexpr const char* layout = "ps_dense";
constexpr std::int64_t columns = 1024;

ps::ServerPlan planned(const Device& device, std::int64_t floats) {
    Program program;
    const auto x = layers::data(program, "x", {1, floats / columns - 1});  // one row is the bias
    minimize(program, layers::reduce_sum(program, layers::fc(program, x, columns)), Adam{});
    DistributeTranspiler transpiler;
    transpiler.transpile(program, {.pservers = "a:1", .trainers = 1});
    return ps::plan_server(transpiler, {.threads = 1, .device = device}, {0, 1}, 1);
}

void serve_floats(const Device& device, std::int64_t floats, comm::Transport& transport) {
    const auto plan = planned(device, floats);
    ps::Server server({.trainers = {1}, .layout = layout}, std::move(ps::first_parts(plan).dense), {},
                      transport);
    ps::serve(server, transport);
}

double rate_of_steps(std::size_t floats, comm::Transport& transport) {
    ps::Client client({.servers = {0}, .layouts = {layout}, .dense = {floats}, .widths = {}}, transport);
    client.join();
    const std::vector<float> gradients(floats, 1e-3F);
    const auto rate = benchmarks::steady_rate(
        [&] {
            client.push_dense(0, 0, gradients);
            client.end_step();
            client.pull_dense();
            client.dense_values(0);
            client.drop_dense_values();
        },
        [](double value) { return value; });
    client.leave();
    return rate;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        fmt::print(stderr, "usage: mpirun -np 2 ps_dense cpu|gpu FLOATS\n");
        return 2;
    }
    try {
        const auto device = device_of(argv[1], "the device");
        const auto floats = std::stoll(argv[2]) / columns * columns;
        const MpiSession session;
        const auto world = mpi_world();
        const auto transport = comm::open_transport(world);
        if (world.rank() == 0)
            serve_floats(device.is_gpu() ? Device::gpu(0) : device, floats, *transport);
        else
            fmt::print("{:.2f}\n", rate_of_steps(static_cast<std::size_t>(floats), *transport));
    } catch (const std::exception& error) {
        fmt::print(stderr, "ps_dense: {}\n", error.what());
        std::_Exit(EXIT_FAILURE);  // mpirun ends the other rank
    }
}
