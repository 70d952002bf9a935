// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/failure_monitor.hpp"

#include <utility>

#include "comm/failure/side_channel.hpp"
#include "comm/mpi/operation_queue.hpp"
#include "comm/mpi/own_comm.hpp"
#include "comm/mpi/progress_thread.hpp"
#include "comm/node/node_board.hpp"
#include "comm/node/node_rendezvous.hpp"
#include "comm/node/window.hpp"

namespace dtrain::comm {
namespace {

/// By a board that the ranks of each node share.
class BoardFailureMonitor : public FailureMonitor {
  public:
    std::chrono::duration<double> deadline() const final { return deadline_; }

    void note_started(std::uint64_t number, const Call& call) final {
        board_.announce(number, call, std::nullopt, -1);
    }
    void note_finished(std::uint64_t number) final { board_.note_finished(number); }
    void note_waits(std::uint64_t number, Operation operation) final { board_.note_waits(number, operation); }
    void note_goes_on() final { board_.note_goes_on(); }
    void note_failure(int code) final { board_.note_failure(static_cast<std::uint64_t>(code)); }

    bool others_gave_up() override { return board_.alarm() != 0 || side_channel_.hears_alarm(); }

    Absence give_up(std::uint64_t number) override {
        Absence absence{.missing = side_channel_.missing(map_, board_, number)};
        for (const auto& [rank, code] : side_channel_.failures(map_))
            absence.failed.push_back({rank, static_cast<int>(code)});
        return absence;
    }

  protected:
    BoardFailureMonitor(NodeBoard board, MPI_Comm all, NodeMap map, std::chrono::seconds deadline)
        : map_(std::move(map)), deadline_(deadline), board_(std::move(board)), side_channel_(all, map_) {}

    const NodeBoard& board() const { return board_; }

  private:
    NodeMap map_;
    std::chrono::seconds deadline_;
    NodeBoard board_;
    SideChannel side_channel_;
};

struct MonitorComms {
    OwnComm all;
    OwnComm node;
};

class MpiFailureMonitor final : MonitorComms, public BoardFailureMonitor {
  public:
    MpiFailureMonitor(MPI_Comm all, MPI_Comm node, NodeMap map, std::chrono::seconds deadline)
        : MonitorComms{OwnComm(copy_of(all)), OwnComm(copy_of(node))},
          BoardFailureMonitor(NodeBoard(MonitorComms::node), MonitorComms::all, std::move(map), deadline) {
        check(MPI_Comm_rank(MonitorComms::all, &rank_), "MPI_Comm_rank");
    }

    int rank() const override { return rank_; }
    std::vector<int> job_ranks() const override { return world_ranks(MonitorComms::all); }

    void let_mpi_work() override {
        const auto turn = take_turn();
        OperationQueue::let_all_go_on();
        int arrived = 0;
        check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MonitorComms::all, &arrived, MPI_STATUS_IGNORE),
              "MPI_Iprobe");
    }

  private:
    int rank_ = 0;
};

/// Of the ranks of a node without MPI.
class NodeFailureMonitor final : public BoardFailureMonitor {
  public:
    NodeFailureMonitor(std::unique_ptr<NodeRendezvous> ranks, std::vector<int> job_ranks,
                       std::chrono::seconds deadline)
        : BoardFailureMonitor(NodeBoard(ranks->rank(), ranks->parts()), MPI_COMM_NULL,
                              make_node_map(std::vector<int>(job_ranks.size()), ranks->rank()), deadline),
          ranks_(std::move(ranks)),
          job_ranks_(std::move(job_ranks)) {}

    int rank() const override { return ranks_->rank(); }
    std::vector<int> job_ranks() const override { return job_ranks_; }

    bool others_gave_up() override { return BoardFailureMonitor::others_gave_up() || !gone().empty(); }

    void let_mpi_work() override {
        const auto turn = take_turn();
        OperationQueue::let_all_go_on();
    }

    Absence give_up(std::uint64_t number) override {
        auto absence = BoardFailureMonitor::give_up(number);
        if (auto ended = gone(); !ended.empty()) absence.missing = std::move(ended);
        return absence;
    }

  private:
    /// Ranks that have ended before what this one has started; asks the system now and then.
    const std::vector<MissingRank>& gone() {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_look_) return gone_;
        next_look_ = now + looks_every;
        gone_.clear();
        for (int other = 0; other < ranks_->size(); ++other)
            if (board().whereabouts(other).finished < board().whereabouts(rank()).announced)
                if (auto why = ranks_->why_gone(other)) gone_.push_back({other, std::move(*why)});
        return gone_;
    }

    static constexpr std::chrono::milliseconds looks_every{100};
    std::unique_ptr<NodeRendezvous> ranks_;
    std::vector<int> job_ranks_;
    std::vector<MissingRank> gone_;
    std::chrono::steady_clock::time_point next_look_{};
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

std::unique_ptr<FailureMonitor> node_failure_monitor(std::unique_ptr<NodeRendezvous> ranks,
                                                     std::vector<int> job_ranks,
                                                     std::chrono::seconds deadline) {
    return std::make_unique<NodeFailureMonitor>(std::move(ranks), std::move(job_ranks), deadline);
}

}  // namespace dtrain::comm
