// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// ps_rate load|idle OPTIMIZER WIDTH BATCH ROWS SERVERS, under mpirun: the client and the server of src/ps, in
// async mode, where each push is acknowledged when it is in the table. The first SERVERS ranks serve, the
// others ask all at once.
//
// load prints a line for each of pull, push and both: name, million keys a second of all trainers together,
// p50 and p99 of a request in microseconds, of the slowest trainer. idle prints what share of a processor
// each server takes while nobody asks it anything, in percent.
#include <numeric>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include <dtrain/communicator.hpp>
#include <dtrain/program.hpp>

#include "comm/post.hpp"
#include "ps/client/client.hpp"
#include "ps/server/serve.hpp"
#include "request_load.hpp"

namespace {

using dtrain::Communicator;
using dtrain::benchmarks::RequestLoad;
using namespace dtrain::ps;

constexpr const char* layout = "ps_rate";
constexpr std::chrono::seconds idle_time{5};
constexpr std::chrono::milliseconds settling_time{500};  // for what a server does when nobody asks

std::vector<int> ranks_from(int first, int end) {
    std::vector<int> ranks(static_cast<std::size_t>(end - first));
    std::iota(ranks.begin(), ranks.end(), first);
    return ranks;
}

void serve_rows(const Communicator& world, int servers, const RequestLoad& load, dtrain::comm::Post& post) {
    TableOptions options{.name = "clicks", .width = load.width, .initializer = UniformRow{0.05}};
    if (load.optimizer == "adam") options.optimizer = dtrain::Adam{};
    std::vector<ServerTable> tables;
    tables.push_back({SparseTable(options), ""});
    Server server(
        {.mode = dtrain::ServerMode::async, .trainers = ranks_from(servers, world.size()), .layout = layout},
        DensePart(dtrain::Program(), {}, 1, 1, 1), std::move(tables), post);
    serve(server, post);
}

class Trainer {
  public:
    Trainer(int servers, const RequestLoad& load, dtrain::comm::Post& post)
        : client_(options(static_cast<std::size_t>(servers), load), post) {
        client_.join();
    }

    void pull(std::span<const std::int64_t> ids, std::span<float> rows) {
        client_.pull_rows(0, ids, rows, false);
    }

    void push(std::span<const std::int64_t> ids, std::span<const float> gradients) {
        client_.push_rows(0, ids, gradients, true);
        client_.end_step();
        client_.flush();
    }

    void leave() { client_.leave(); }

  private:
    static ClientOptions options(std::size_t servers, const RequestLoad& load) {
        return {.mode = dtrain::ServerMode::async,
                .servers = ranks_from(0, static_cast<int>(servers)),
                .layouts = std::vector<std::string>(servers, layout),
                .dense = std::vector<std::size_t>(servers),
                .widths = {load.width}};
    }

    Client client_;
};

/// Of user and system together.
double processor_seconds_of(std::int64_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text;
    std::getline(file, text);
    std::istringstream behind_name(text.substr(text.rfind(')') + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) behind_name >> skipped;
    double user = 0;
    double system = 0;
    behind_name >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void watch_idle(std::span<const std::int64_t> servers) {
    std::vector<double> before;
    for (const auto server : servers) before.push_back(processor_seconds_of(server));
    std::this_thread::sleep_for(idle_time);
    for (std::size_t i = 0; i < servers.size(); ++i)
        fmt::print("idle {}\n", 100 * (processor_seconds_of(servers[i]) - before[i]) /
                                    static_cast<double>(idle_time.count()));
}

void ask(const std::string& what, Trainer& trainer, const Communicator& trainers, const RequestLoad& load,
         std::span<const std::int64_t> servers) {
    touch_all(trainer, load);
    std::this_thread::sleep_for(settling_time);
    trainers.barrier();
    if (what == "idle") {
        if (trainers.rank() == 0) watch_idle(servers);
    } else {
        dtrain::benchmarks::measure_requests(trainer, load, [&](const char* name, const auto& figures) {
            const auto rate = trainers.sum(figures.rate);
            const auto p50 = trainers.max(figures.p50);
            const auto p99 = trainers.max(figures.p99);
            if (trainers.rank() == 0) fmt::print("{} {} {} {}\n", name, rate, p50, p99);
        });
    }
    trainer.leave();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) {
        fmt::print(stderr, "usage: mpirun ps_rate load|idle sgd|adam WIDTH BATCH ROWS SERVERS\n");
        return 2;
    }
    const auto load = dtrain::benchmarks::request_load_of(argv + 2);
    const int servers = std::stoi(argv[6]);
    const dtrain::MpiSession session;
    const auto world = dtrain::mpi_world();
    const auto processes = world.allgather(std::int64_t{getpid()});
    const bool serves = world.rank() < servers;
    const auto peers = world.split(serves ? 0 : 1, world.rank());
    const auto post = dtrain::comm::open_post(world);
    if (serves) {
        serve_rows(world, servers, load, *post);
    } else {
        Trainer trainer(servers, load, *post);
        ask(argv[1], trainer, peers, load, std::span(processes).first(static_cast<std::size_t>(servers)));
    }
}
