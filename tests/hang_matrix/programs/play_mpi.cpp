// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// play.hpp with MPI.
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include "play.hpp"

namespace {

using play::length;
using play::rank;
using play::tag;

class Ranks {
  public:
    Ranks() {
        MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, rank, &pair_);
        MPI_Comm_dup(pair_, &twin_);
        // Over TCP Open MPI has no windows in programs with threads.
        if (play::is_one_of({"does_not_fence", "keeps_window_lock"}))
            MPI_Win_create(memory_.data(), memory_.size() * sizeof(double), sizeof(double), MPI_INFO_NULL,
                           MPI_COMM_WORLD, &window_);
        MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file_);
    }

    void sum(int count = static_cast<int>(length), MPI_Datatype type = MPI_FLOAT) {
        MPI_Allreduce(some_.data(), sums_.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
    }
    void sum_of_fewer() { sum(length / 2); }
    void sum_of_doubles() { sum(length, MPI_DOUBLE); }
    void broadcast(int root) { MPI_Bcast(some_.data(), length, MPI_FLOAT, root, MPI_COMM_WORLD); }
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
    void receive_from_any() { receive(MPI_ANY_SOURCE); }
    void send(int to) { MPI_Ssend(some_.data(), length, MPI_FLOAT, to, tag, MPI_COMM_WORLD); }
    void wait_for_request() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(some_.data(), length, MPI_FLOAT, 0, tag, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
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
    void start_sum() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(some_.data(), sums_.data(), length, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }

    play::Ways alone() {
        return {
            {"probes", [this] { probe(); }},
            {"polls", [this] { poll(); }},
            {"does_not_start", [this] { do_not_start(); }},
            {"does_not_fence", blocked::sleeps},
            {"keeps_window_lock", [this] { keep_window_lock(); }},
            {"does_not_write", blocked::sleeps},
            {"does_not_start_sum", blocked::sleeps},
        };
    }
    play::Ways others() {
        return {
            {"does_not_start", [this] { wait_for_started(); }}, {"does_not_fence", [this] { fence(); }},
            {"keeps_window_lock", [this] { lock_window(); }},   {"does_not_write", [this] { write(); }},
            {"does_not_start_sum", [this] { start_sum(); }},
        };
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

}  // namespace

int main(int argc, char** argv) {
    play::kind = argc > 1 ? argv[1] : "";
    play::before_start();
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Ranks ranks;
    play::play(ranks);
    MPI_Finalize();
}
