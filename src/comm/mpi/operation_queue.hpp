// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

#include "comm/failure/side_channel.hpp"
#include "comm/mpi/operation_trace.hpp"
#include "comm/mpi/task.hpp"
#include "comm/node/backoff.hpp"
#include "comm/node/faster_way.hpp"
#include "comm/node/node_board.hpp"
#include "comm/node/node_map.hpp"
#include "comm/node/other_memory.hpp"

namespace dtrain::comm {

/// What a queue is built on by the ranks of one node that do without MPI.
struct QueueOnNode {
    const Peers& peers;
    std::span<std::byte* const> board;  ///< by rank: NodeBoard::bytes_of_a_rank(), which outlive the queue
    std::vector<int> job_ranks;         ///< by rank: its number in reports
    /// Why a rank will do nothing any longer; none if it may. Asked while operations wait.
    std::function<std::optional<std::string>(int rank)> why_gone;
    /// Whether a rank that is gone went in order: not all who wait for a message need it.
    std::function<bool(int rank)> has_left;
    /// Tells the others that this rank has given up: it will do nothing, and is not the cause.
    std::function<void()> note_given_up;
    /// Progresses the rank's messages; true if any did.
    std::function<bool()> progress_messages;
};

/// The shared resources of one communicator's operations, and the queue in which they are processed: each
/// announces itself when it is started and is processed once all before it are complete, so that all ranks do
/// the same things in the same order.
class OperationQueue {
  public:
    /// Collective. `communicator` has all ranks, `node` those of this node; both belong to the caller. A
    /// deadline of 0 s means none.
    OperationQueue(MPI_Comm communicator, MPI_Comm node, NodeMap map, std::chrono::seconds deadline);
    /// Collective.
    OperationQueue(QueueOnNode ranks, std::chrono::seconds deadline);
    OperationQueue(const OperationQueue&) = delete;
    OperationQueue& operator=(const OperationQueue&) = delete;
    ~OperationQueue();

    const MPI_Comm communicator;  ///< MPI_COMM_NULL without MPI
    const NodeMap map;
    NodeBoard board;
    const OtherMemory other_memory;
    FasterWay faster_way;  ///< of the node's first rank, which decides
    const int rank;
    const int size;
    OperationTrace trace;

    /// Space for one pointer per rank of the node, for use between two waits.
    std::vector<const std::byte*> sources;
    std::vector<std::byte*> destinations;
    std::vector<std::byte> scratch;  ///< grows as needed

    /// The parts of a window of all ranks of the node; null for ranks without one.
    const std::vector<std::byte*>& parts_of(const Window& window);

    /// Starts make(number), a Task that does what the call says. @throws CommunicatorTimeout if others have
    /// given up
    template <class Make>
    std::uint64_t start(const Call& call, const Make& make) {
        const auto number = next_number();
        trace.begin(number, call);
        add(number, make(number));
        return number;
    }

    /// Both rethrow the operation's exception. @throws CommunicatorTimeout
    bool test(std::uint64_t number);
    void wait(std::uint64_t number);
    /// False if `end` came first.
    bool wait_until(std::uint64_t number, Backoff::Clock::time_point end);

    /// The same for a message to or from one rank, which is not part of the queue.
    bool test(MPI_Request& request, const Call& call);
    void wait(MPI_Request& request, const Call& call);
    bool wait_until(MPI_Request& request, Call& call, Backoff::Clock::time_point end);

    /// The same for a message without MPI: `is_complete` tells whether it is.
    bool test(const Call& call, const std::function<bool()>& is_complete);
    void wait(const Call& call, const std::function<bool()>& is_complete);
    bool wait_until(Call& call, const std::function<bool()>& is_complete, Backoff::Clock::time_point end);

    /// What an operation ends with that threw `failure`: if the memory of another process could not be read
    /// and that process has ended, a CommunicatorTimeout, as for all others that wait for it.
    /// @param number of the operation that waits
    std::exception_ptr failure_of(Operation operation, std::uint64_t number, std::exception_ptr failure);

    /// From now on. 0 s means none.
    void set_deadline(std::chrono::duration<double> deadline) { deadline_ = deadline; }

    std::uint64_t last_number() const { return started_; }

    /// False when this queue was given up.
    bool is_intact() const { return is_intact_; }

    /// Progresses operations that can continue; true if one did.
    bool progress();

    /// True while any operation is incomplete.
    bool works() const { return completed_ < started_; }

    /// Call it when the program continues while operations are pending.
    void note_absence() { ++absences_; }
    std::uint64_t absences() const { return absences_; }

    /// Calls progress() on all queues of this process that span nodes; true while any of them has pending
    /// operations.
    static bool let_all_go_on();

  private:
    std::uint64_t next_number();
    void add(std::uint64_t number, Task task);
    Task& task(std::uint64_t number) { return tasks_[number % NodeBoard::ring]; }
    bool is_over(const Wait& wait);
    void complete_front();
    void sleep(const Wait& wait, std::chrono::duration<double> waited);
    void let_mpi_work() const;
    bool others_gave_up();
    bool is_too_late(std::chrono::duration<double> waited);
    std::vector<MissingRank> gone(std::uint64_t number) const;
    std::vector<MissingRank> gone_for(const Call& message) const;
    std::vector<MissingRank> ended_with_memory_of(int neighbour) const;
    bool have_ranks_gone();
    void note_given_up();
    void check_deadline(std::chrono::duration<double> waited);
    /// Throws for the operation at the front of the queue, or for the next one.
    [[noreturn]] void give_up(std::chrono::duration<double> waited);
    void check_others_wait();
    void check_peer(const Call& call, std::chrono::duration<double> waited,
                    const std::function<bool()>& is_complete);
    std::vector<MissingRank> missing(std::uint64_t number);
    void name_in_job(std::vector<MissingRank>& ranks) const;

    std::array<Task, NodeBoard::ring> tasks_;
    std::uint64_t started_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t absences_ = 0;
    std::chrono::duration<double> waited_{};  ///< for the operation at the front, by calls with a limit
    std::map<std::uint64_t, std::exception_ptr> failures_;
    int request_error_ = MPI_SUCCESS;
    std::map<std::uint64_t, std::vector<std::byte*>> parts_;
    std::vector<int> world_ranks_;  // by rank of this communicator: its number in the job
    std::function<std::optional<std::string>(int rank)> why_gone_;
    std::function<bool(int rank)> has_left_;
    std::function<void()> note_given_up_;
    std::function<bool()> progress_messages_;
    Backoff::Clock::time_point next_look_{};  // for ranks that have gone
    bool is_intact_ = true;
    bool crowded_;
    std::chrono::duration<double> deadline_;
    SideChannel side_channel_;
};

/// Waits until every rank of the node has made as many steps as this one.
inline Waiting all_steps(const OperationQueue& queue) {
    return {{.what = Wait::For::steps, .value = queue.board.steps()}};
}

}  // namespace dtrain::comm
