// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/failure_monitor.hpp"

#include <utility>

#include "comm/node_board.hpp"
#include "comm/operation_queue.hpp"
#include "comm/own_comm.hpp"
#include "comm/progress_thread.hpp"
#include "comm/side_channel.hpp"
#include "comm/window.hpp"

namespace dtrain::comm {
namespace {

class MpiFailureMonitor final : public FailureMonitor {
  public:
    MpiFailureMonitor(MPI_Comm all, MPI_Comm node, NodeMap map, std::chrono::seconds deadline)
        : all_(copy_of(all)),
          node_(copy_of(node)),
          map_(std::move(map)),
          deadline_(deadline),
          board_(node_),
          side_channel_(all_, map_) {
        check(MPI_Comm_rank(all_, &rank_), "MPI_Comm_rank");
    }

    int rank() const override { return rank_; }
    std::vector<int> job_ranks() const override { return world_ranks(all_); }
    std::chrono::duration<double> deadline() const override { return deadline_; }

    void note_started(std::uint64_t number, const Call& call) override {
        board_.announce(number, call, std::nullopt, -1);
    }
    void note_finished(std::uint64_t number) override { board_.note_finished(number); }
    void note_waits(std::uint64_t number, Operation operation) override {
        board_.note_waits(number, operation);
    }
    void note_goes_on() override { board_.note_goes_on(); }
    void note_failure(int code) override { board_.note_failure(static_cast<std::uint64_t>(code)); }

    bool others_gave_up() override { return board_.alarm() != 0 || side_channel_.hears_alarm(); }

    void let_mpi_work() override {
        const auto turn = take_turn();
        OperationQueue::let_all_go_on();
        int arrived = 0;
        check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, all_, &arrived, MPI_STATUS_IGNORE), "MPI_Iprobe");
    }

    Absence give_up(std::uint64_t number) override {
        Absence absence{.missing = side_channel_.missing(map_, board_, number)};
        for (const auto& [rank, code] : side_channel_.failures(map_))
            absence.failed.push_back({rank, static_cast<int>(code)});
        return absence;
    }

  private:
    OwnComm all_;
    OwnComm node_;
    NodeMap map_;
    std::chrono::seconds deadline_;
    NodeBoard board_;
    SideChannel side_channel_;
    int rank_ = 0;
};

/// There are no other ranks.
class LocalFailureMonitor final : public FailureMonitor {
  public:
    int rank() const override { return 0; }
    std::chrono::duration<double> deadline() const override { return {}; }
    void note_started(std::uint64_t, const Call&) override {}
    void note_finished(std::uint64_t) override {}
    void note_waits(std::uint64_t, Operation) override {}
    void note_goes_on() override {}
    void note_failure(int code) override { failure_ = code; }
    bool others_gave_up() override { return false; }
    void let_mpi_work() override {}
    Absence give_up(std::uint64_t) override {
        return {.failed = failure_ == 0 ? std::vector<FailedRank>{} : std::vector<FailedRank>{{0, failure_}}};
    }

  private:
    int failure_ = 0;
};

}  // namespace

std::unique_ptr<FailureMonitor> local_failure_monitor() {
    return std::make_unique<LocalFailureMonitor>();
}

std::unique_ptr<FailureMonitor> mpi_failure_monitor(MPI_Comm all, MPI_Comm node, NodeMap map,
                                                    std::chrono::seconds deadline) {
    return std::make_unique<MpiFailureMonitor>(all, node, std::move(map), deadline);
}

}  // namespace dtrain::comm
