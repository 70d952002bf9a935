// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <vector>

#include <mpi.h>

#include "comm/backoff.hpp"
#include "comm/faster_way.hpp"
#include "comm/node_board.hpp"
#include "comm/node_map.hpp"
#include "comm/other_memory.hpp"
#include "comm/side_channel.hpp"
#include "comm/task.hpp"

namespace dtrain::comm {

/// What the operations of one communicator work with, and the queue in which they go on: each announces
/// itself when it is started and gets its turn when all before it are complete, so that all ranks do the same
/// things in the same order.
class OperationQueue {
  public:
    /// Collective. `communicator` is of all ranks, `node` of those of this node; they belong to the caller. A
    /// deadline of 0 s is none.
    OperationQueue(MPI_Comm communicator, MPI_Comm node, NodeMap map, std::chrono::seconds deadline);
    OperationQueue(const OperationQueue&) = delete;
    OperationQueue& operator=(const OperationQueue&) = delete;
    ~OperationQueue();

    const MPI_Comm communicator;
    const NodeMap map;
    NodeBoard board;
    const OtherMemory other_memory;
    FasterWay faster_way;  ///< of the node's first rank, who decides
    const int rank;
    const int size;

    /// Room for a pointer per rank of the node, for use between two waits.
    std::vector<const std::byte*> sources;
    std::vector<std::byte*> destinations;
    std::vector<std::byte> scratch;  ///< grows to what is needed

    /// Where the ranks of the node have their parts of a window; null for those that have none.
    const std::vector<std::byte*>& parts_of(const Window& window);

    /// Begins make(number), a Task. @throws CommunicatorTimeout when others have given up
    template <class Make>
    std::uint64_t start(const Make& make) {
        const auto number = next_number();
        add(number, make(number));
        return number;
    }

    /// Both rethrow what the operation threw. @throws CommunicatorTimeout
    bool test(std::uint64_t number);
    void wait(std::uint64_t number);

    /// The same for a message to or from one rank, which is no part of the queue.
    bool test(MPI_Request& request, const Call& call);
    void wait(MPI_Request& request, const Call& call);

    /// Lets operations go on that can; true when one did.
    bool progress();

    /// True while an operation is not complete.
    bool works() const { return completed_ < started_; }

    /// To be called when the program goes on while operations are under way.
    void note_absence() { ++absences_; }
    std::uint64_t absences() const { return absences_; }

    /// progress() of all groups of this process that span nodes; true while one of them works.
    static bool let_all_go_on();

  private:
    std::uint64_t next_number();
    void add(std::uint64_t number, Task task);
    Task& task(std::uint64_t number) { return tasks_[number % NodeBoard::ring]; }
    bool is_over(const Wait& wait);
    void complete_front();
    void sleep(const Wait& wait, std::chrono::duration<double> waited);
    bool others_gave_up();
    bool is_too_late(std::chrono::duration<double> waited);
    void check_deadline(const Backoff& backoff);
    /// Throws for the operation whose turn it is, or for the next one.
    [[noreturn]] void give_up(std::chrono::duration<double> waited);
    void check_others_wait();
    std::vector<MissingRank> missing(std::uint64_t number);

    std::array<Task, NodeBoard::ring> tasks_;
    std::uint64_t started_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t absences_ = 0;
    std::map<std::uint64_t, std::exception_ptr> failures_;
    int request_error_ = MPI_SUCCESS;
    std::map<std::uint64_t, std::vector<std::byte*>> parts_;
    std::vector<int> world_ranks_;  // of all ranks
    bool crowded_;
    std::chrono::seconds deadline_;
    SideChannel side_channel_;
};

/// To wait until every rank of the node has come as far as this one.
inline Waiting all_steps(const OperationQueue& queue) {
    return {{.what = Wait::For::steps, .value = queue.board.steps()}};
}

}  // namespace dtrain::comm
