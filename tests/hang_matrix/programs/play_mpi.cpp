// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// The loop of play.py in C++ with MPI: ranks of three hang as the first argument says.
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <mpi.h>

#include "blocked.hpp"
#include "healthy.hpp"

namespace {

constexpr int hang_at = 20;
constexpr int tag = 7;
constexpr std::size_t length = 1000;

std::string kind;
int rank = 0;

bool is_one_of(const std::vector<std::string>& kinds) {
    for (const auto& each : kinds)
        if (each == kind) return true;
    return false;
}

class Ranks {
  public:
    Ranks() {
        MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, rank, &pair_);
        MPI_Comm_dup(pair_, &twin_);
        // Over TCP Open MPI has no windows in programs with threads.
        if (is_one_of({"does_not_fence", "keeps_window_lock"}))
            MPI_Win_create(memory_.data(), memory_.size() * sizeof(double), sizeof(double), MPI_INFO_NULL,
                           MPI_COMM_WORLD, &window_);
        MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file_);
    }

    void sum(int count = static_cast<int>(length), MPI_Datatype type = MPI_FLOAT) {
        MPI_Allreduce(some_.data(), sums_.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
    }
    void broadcast(int root = 0) { MPI_Bcast(some_.data(), length, MPI_FLOAT, root, MPI_COMM_WORLD); }
    void all_gather() {
        MPI_Allgather(some_.data(), length, MPI_FLOAT, all_.data(), length, MPI_FLOAT, MPI_COMM_WORLD);
    }
    void reduce() { MPI_Reduce(some_.data(), sums_.data(), length, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); }
    void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
    void barrier_of(const std::string& group) { MPI_Barrier(group == "pair" ? pair_ : twin_); }
    void make_group() {
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
    }
    void receive(int source) {
        MPI_Recv(some_.data(), length, MPI_FLOAT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    void send(int to) { MPI_Ssend(some_.data(), length, MPI_FLOAT, to, tag, MPI_COMM_WORLD); }
    void wait_for_request() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(some_.data(), length, MPI_FLOAT, 0, tag, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    void wait_in_thread() {
        std::thread([&] { receive(0); }).join();
    }
    void probe() { MPI_Probe(0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
    void poll() {
        for (int came = 0; came == 0;) MPI_Iprobe(0, tag, MPI_COMM_WORLD, &came, MPI_STATUS_IGNORE);
    }
    void do_not_start() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Send_init(some_.data(), length, MPI_FLOAT, 1, tag, MPI_COMM_WORLD, &request);
        blocked::sleeps();
    }
    void wait_for_started() {
        if (rank == 1) receive(2);
    }
    void fence() { MPI_Win_fence(0, window_); }
    void keep_window_lock() {
        put();
        MPI_Win_flush(0, window_);
        std::ofstream("locked") << "yes";
        blocked::sleeps();
    }
    void lock_window() {
        while (!std::filesystem::exists("locked")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (rank == 1) {
            put();
            MPI_Win_unlock(0, window_);
        }
    }
    void write() {
        MPI_File_write_at_all(file_, rank * 4000, some_.data(), length, MPI_FLOAT, MPI_STATUS_IGNORE);
    }
    void do_not_start_sum() { blocked::sleeps(); }
    void start_sum() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(some_.data(), sums_.data(), length, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }

  private:
    void put() {
        constexpr double value = 1;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window_);
        MPI_Put(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window_);
    }

    std::vector<float> some_ = std::vector<float>(2 * length), sums_ = some_,
                       all_ = std::vector<float>(3 * length);
    std::array<double, 8> memory_{};
    MPI_Comm pair_ = MPI_COMM_NULL, twin_ = MPI_COMM_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    MPI_File file_ = MPI_FILE_NULL;
};

/// Of a step before its barrier.
void calls_of_step(Ranks& ranks, const std::string& kind_here) {
    ranks.broadcast(kind_here == "other_root" ? 1 : 0);
    if (kind_here == "reorders") {
        ranks.all_gather();
        ranks.sum();
        return;
    }
    if (kind_here == "other_count")
        ranks.sum(length / 2);
    else if (kind_here == "other_type")
        ranks.sum(length, MPI_DOUBLE);
    else if (kind_here == "other_operation")
        ranks.all_gather();
    else if (kind_here != "skips")
        ranks.sum();
    try {
        if (kind_here == "exception") throw std::runtime_error("a bad sample");
        ranks.all_gather();
    } catch (const std::runtime_error&) {
    }
}

/// What some ranks do instead of what the others do next.
void communicate(Ranks& ranks) {
    const std::map<std::string, std::function<void()>> alone{
        {"receives", [&] { ranks.receive(0); }},
        {"sends", [&] { ranks.send(0); }},
        {"receives_from_any", [&] { ranks.receive(MPI_ANY_SOURCE); }},
        {"waits_for_request", [&] { ranks.wait_for_request(); }},
        {"waits_in_thread", [&] { ranks.wait_in_thread(); }},
        {"makes_group", [&] { ranks.make_group(); }},
        {"probes", [&] { ranks.probe(); }},
        {"polls", [&] { ranks.poll(); }},
        {"does_not_start", [&] { ranks.do_not_start(); }},
        {"does_not_fence", blocked::sleeps},
        {"keeps_window_lock", [&] { ranks.keep_window_lock(); }},
        {"does_not_write", blocked::sleeps},
        {"does_not_start_sum", [&] { ranks.do_not_start_sum(); }},
        {"ends_not", blocked::sleeps},
    };
    const std::map<std::string, std::function<void()>> others{
        {"does_not_start", [&] { ranks.wait_for_started(); }}, {"does_not_fence", [&] { ranks.fence(); }},
        {"keeps_window_lock", [&] { ranks.lock_window(); }},   {"does_not_write", [&] { ranks.write(); }},
        {"does_not_start_sum", [&] { ranks.start_sum(); }},    {"ends_not", [] { MPI_Finalize(); }},
    };
    if (rank == 2 && alone.contains(kind)) {
        blocked::begin();
        alone.at(kind)();
    }
    if (rank != 2 && others.contains(kind)) others.at(kind)();
    if (kind == "circle" && rank < 2) {
        blocked::begin();
        ranks.receive(1 - rank);
    }
    if (kind == "ring_of_sends") {
        blocked::begin();
        ranks.send((rank + 1) % 3);
    }
    if (kind == "other_group" && rank == 1) {
        blocked::begin();
        ranks.barrier_of("pair");
    }
    if (kind == "order_of_groups" && rank > 0) {
        blocked::begin();
        ranks.barrier_of(rank == 1 ? "pair" : "twin");
        ranks.barrier_of(rank == 1 ? "twin" : "pair");
    }
}

bool is_culprit() {
    if (kind == "two_are_late") return rank > 0;
    if (is_one_of({"evaluate", "save_checkpoint", "write_to_frozen_disk"})) return rank == 0;
    return rank == 2;
}

void play_phases(Ranks& ranks) {
    for (const auto& phase : healthy::phases()) {
        for (int step = 0; step < 40; ++step) calls_of_step(ranks, "");
        if (rank == phase.rank) phase.run();
        ranks.barrier();
    }
}

void play(Ranks& ranks) {
    const bool calls_others = is_one_of(
        {"skips", "reorders", "exception", "other_count", "other_type", "other_root", "other_operation"});
    for (int step = 1; step < 100000; ++step) {
        const bool now = step == hang_at && is_culprit();
        if (now && calls_others) blocked::begin();
        calls_of_step(ranks, now ? kind : "");
        if (now && is_one_of({"leaves", "loop_ends", "loop_ends_early"})) {
            blocked::begin();
            break;
        }
        if (now && kind == "two_are_late") {
            blocked::begin();
            blocked::sleeps();
        }
        if (now && blocked::ways().contains(kind)) {
            blocked::begin();
            blocked::ways().at(kind)();
        }
        if (step == hang_at) communicate(ranks);
        if (step == hang_at && rank == 0 && kind == "link") blocked::begin();  // the harness cuts it
        ranks.barrier();
    }
    if (kind == "loop_ends_early") ranks.reduce();
    if (kind == "loop_ends") blocked::sleeps();
    if (kind == "leaves") ::_exit(0);
}

}  // namespace

int main(int argc, char** argv) {
    kind = argc > 1 ? argv[1] : "";
    const char* const of_job = std::getenv("RANK");
    if (kind == "comes_not" && of_job != nullptr && std::string(of_job) == "2") {
        blocked::begin();
        blocked::sleeps();
    }
    if (kind == "comes_not") blocked::begin();
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Ranks ranks;
    if (kind == "healthy")
        play_phases(ranks);
    else
        play(ranks);
    MPI_Finalize();
}
