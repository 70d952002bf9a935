// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// ps_rate load|tables|idle|save OPTIMIZER WIDTH BATCH ROWS SERVERS [FOLDER], under mpirun: the client and the
// server of src/ps, in async mode, in which each push is acknowledged once it is in the table. The first
// SERVERS ranks are servers; the others send requests at the same time.
//
// load prints a line for each of pull, push and both: name, million keys per second of all trainers together,
// p50 and p99 of a request in microseconds for the slowest trainer. tables has eight tables, and prints such
// lines for a batch that is pulled from all of them, an eighth from each: together, and in_turn. idle prints
// the processor utilization of each server while it receives no requests, in percent. save prints the lines
// of load, and then saving_pull, saving_push and saving_both, during which the first trainer makes the
// servers write one save after the other into FOLDER; on stderr the number of saves.
#include <filesystem>
#include <fstream>
#include <future>
#include <numeric>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include <dtrain/communicator.hpp>
#include <dtrain/program.hpp>

#include "comm/message/transport.hpp"
#include "ps/client/client.hpp"
#include "ps/job/server_saver.hpp"
#include "ps/server/serve.hpp"
#include "request_load.hpp"

namespace {

using dtrain::Communicator;
using dtrain::benchmarks::RequestFigures;
using dtrain::benchmarks::RequestLoad;
using namespace dtrain::ps;

constexpr const char* layout = "ps_rate";
constexpr std::size_t many_tables = 8;
constexpr std::chrono::seconds idle_time{5};
constexpr std::chrono::milliseconds settling_time{500};  // for the servers' background work

std::vector<int> ranks_from(int first, int end) {
    std::vector<int> ranks(static_cast<std::size_t>(end - first));
    std::iota(ranks.begin(), ranks.end(), first);
    return ranks;
}

void serve_rows(const Communicator& world, int servers, const RequestLoad& load, std::size_t tables_of_each,
                dtrain::comm::Transport& transport) {
    const ServerPlan plan{
        .program = dtrain::Program(),
        .shard = {static_cast<std::uint32_t>(world.rank()), static_cast<std::uint32_t>(servers)}};
    TableOptions options{.name = "clicks", .width = load.width, .initializer = UniformRow{0.05}};
    if (load.optimizer == "adam") options.optimizer = dtrain::Adam{};
    std::vector<ServerTable> tables;
    while (tables.size() < tables_of_each) tables.push_back({SparseTable(options), ""});
    Server server(
        {.mode = dtrain::ServerMode::async, .trainers = ranks_from(servers, world.size()), .layout = layout},
        DensePart(plan.program, {}, 1, 1, 1), std::move(tables), transport);
    server.save_by(std::make_unique<ServerSaver>(plan, server));
    serve(server, transport);
}

class Trainer {
  public:
    Trainer(int servers, const RequestLoad& load, std::size_t tables, dtrain::comm::Transport& transport)
        : tables_(tables), client_(options(static_cast<std::size_t>(servers), load, tables), transport) {
        client_.join();
    }

    /// Makes the servers save continuously until stop_saving().
    void start_saving(const std::string& folder) {
        folder_ = folder;
        begin_save();
    }

    void stop_saving() {
        finish_save();
        folder_.clear();
        fmt::print(stderr, "{} saves\n", saves_);
    }

    void pull(std::span<const std::int64_t> ids, std::span<float> rows) {
        if (!folder_.empty() && client_.is_saved()) {
            finish_save();
            begin_save();
        }
        client_.pull_rows({0, ids}, rows);
    }

    void pull_parallel(std::span<const std::int64_t> ids, std::span<float> rows) {
        const auto asked = client_.ask_rows(parts_of(ids));
        for (const auto& of_table : asked) client_.take_rows(of_table, part_of(rows, of_table.table));
    }

    void pull_in_turn(std::span<const std::int64_t> ids, std::span<float> rows) {
        for (const auto& wanted : parts_of(ids)) client_.pull_rows(wanted, part_of(rows, wanted.table));
    }

    void push(std::span<const std::int64_t> ids, std::span<const float> gradients) {
        client_.push_rows(0, ids, gradients, true);
        client_.end_step();
        client_.flush();
    }

    void leave() { client_.leave(); }

  private:
    static ClientOptions options(std::size_t servers, const RequestLoad& load, std::size_t tables) {
        return {.mode = dtrain::ServerMode::async,
                .servers = ranks_from(0, static_cast<int>(servers)),
                .layouts = std::vector<std::string>(servers, layout),
                .dense = std::vector<std::size_t>(servers),
                .widths = std::vector<std::size_t>(tables, load.width)};
    }

    template <class T>
    std::span<T> part_of(std::span<T> all, std::size_t table) const {
        return all.subspan(all.size() / tables_ * table, all.size() / tables_);
    }

    std::vector<WantedRows> parts_of(std::span<const std::int64_t> ids) const {
        std::vector<WantedRows> parts;
        for (std::uint32_t table = 0; table < tables_; ++table) parts.push_back({table, part_of(ids, table)});
        return parts;
    }

    std::filesystem::path save_folder() const { return folder_ / std::to_string(saves_); }

    void begin_save() {
        std::filesystem::create_directories(save_folder());
        client_.begin_save(to_text({.folder = save_folder()}));
    }

    /// Like a job, keeps only the newest save: a thread removes the others.
    void finish_save() {
        client_.finish_save();
        removal_ =
            std::async(std::launch::async, [old = save_folder()] { std::filesystem::remove_all(old); });
        ++saves_;
    }

    std::size_t tables_;
    Client client_;
    std::filesystem::path folder_;  // "": no saves
    int saves_ = 0;
    std::future<void> removal_;
};

/// User plus system time.
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

void tell(const Communicator& trainers, const std::string& name, const RequestFigures& figures) {
    const auto rate = trainers.sum(figures.rate);
    const auto p50 = trainers.max(figures.p50);
    const auto p99 = trainers.max(figures.p99);
    if (trainers.rank() == 0) fmt::print("{} {} {} {}\n", name, rate, p50, p99);
}

void measure(Trainer& trainer, const Communicator& trainers, const RequestLoad& load,
             const std::string& prefix) {
    dtrain::benchmarks::measure_requests(trainer, load, [&](const char* name, const auto& figures) {
        tell(trainers, prefix + name, figures);
    });
}

void measure_tables(Trainer& trainer, const Communicator& trainers, const RequestLoad& load) {
    const auto batches = dtrain::benchmarks::batches_of({.batch = load.batch, .rows = load.rows});
    std::vector<float> rows(load.batch * load.width);
    for (const auto& batch : batches) trainer.pull_parallel(batch, rows);
    tell(trainers, "together", figures_of(load, [&](std::size_t number) {
             trainer.pull_parallel(batches[number % batches.size()], rows);
         }));
    tell(trainers, "in_turn", figures_of(load, [&](std::size_t number) {
             trainer.pull_in_turn(batches[number % batches.size()], rows);
         }));
}

void ask(const std::string& what, Trainer& trainer, const Communicator& trainers, const RequestLoad& load,
         std::span<const std::int64_t> servers, const std::string& folder) {
    touch_all(trainer, load);
    std::this_thread::sleep_for(settling_time);
    trainers.barrier();
    if (what == "idle") {
        if (trainers.rank() == 0) watch_idle(servers);
    } else if (what == "tables") {
        measure_tables(trainer, trainers, load);
    } else {
        measure(trainer, trainers, load, "");
    }
    if (what == "save") {
        trainers.barrier();
        if (trainers.rank() == 0) trainer.start_saving(folder);
        measure(trainer, trainers, load, "saving_");
        if (trainers.rank() == 0) trainer.stop_saving();
        trainers.barrier();
    }
    trainer.leave();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7 && argc != 8) {
        fmt::print(
            stderr,
            "usage: mpirun ps_rate load|tables|idle|save sgd|adam WIDTH BATCH ROWS SERVERS [FOLDER]\n");
        return 2;
    }
    const auto load = dtrain::benchmarks::request_load_of(argv + 2);
    const int servers = std::stoi(argv[6]);
    const dtrain::MpiSession session;
    const auto world = dtrain::mpi_world();
    const auto processes = world.all_gather(std::int64_t{getpid()});
    const bool serves = world.rank() < servers;
    const std::string what = argv[1];
    const auto tables = what == "tables" ? many_tables : 1;
    const auto peers = world.split(serves ? 0 : 1, world.rank());
    const auto transport = dtrain::comm::open_transport(world);
    if (serves) {
        serve_rows(world, servers, load, tables, *transport);
    } else {
        Trainer trainer(servers, load, tables, *transport);
        ask(what, trainer, peers, load, std::span(processes).first(static_cast<std::size_t>(servers)),
            argc == 8 ? argv[7] : ".");
    }
}
