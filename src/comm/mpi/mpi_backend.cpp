// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/mpi_backend.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <climits>
#include <fmt/format.h>

#include <dtrain/environment.hpp>

#include "base/text.hpp"
#include "comm/api/own_node_rank.hpp"
#include "comm/api/own_world_size.hpp"
#include "comm/api/subset.hpp"
#include "comm/cross_node/across_nodes.hpp"
#include "comm/failure/deadline.hpp"
#include "comm/failure/leaving.hpp"
#include "comm/message/transport.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/mpi/own_comm.hpp"
#include "comm/mpi/progress_thread.hpp"
#include "comm/node/node_operations.hpp"
#include "comm/node/peers.hpp"

namespace dtrain::comm {
namespace {

class MpiBackend final : public CommunicatorBackend {
  public:
    explicit MpiBackend(MPI_Comm parent, const Environment& environment)
        : collectives_(copy_of(parent)),
          messages_(copy_of(parent)),
          node_(split_by_node(parent, environment.get_int("DTRAIN_RANKS_PER_NODE").value_or(0))),
          deadline_(deadline_of(environment)),
          queue_(collectives_, node_, map_nodes(parent, node_), deadline_) {
        if (queue_.map.nodes() > 1 && environment.get("DTRAIN_PROGRESS_THREAD") != "0") expect_help();
    }

    ~MpiBackend() override {
        if (!leaves_alone()) freed_.emplace(queue_.trace.free(queue_.last_number() + 1));
    }

    int rank() const override { return queue_.rank; }
    int size() const override { return queue_.size; }
    int nodes() const override { return queue_.map.nodes(); }
    int node() const override { return queue_.map.node; }
    int node_rank() const override { return queue_.map.node_rank; }
    int node_size() const override { return queue_.board.size(); }

    Request start(const Call& call) override {
        if (is_message(call.operation)) return start_message(call);
        const auto turn = take_turn();
        const auto number = start_collective(call);
        queue_.note_absence();
        if (queue_.map.nodes() > 1 && queue_.works()) ask_for_help();
        return {this, number * 2};
    }

    void run(const Call& call) override {
        const auto turn = take_turn();
        queue_.wait(start_collective(call));
    }

    bool test(std::uintptr_t handle) override {
        const auto turn = take_turn();
        if (handle % 2 == 0) {
            queue_.note_absence();
            return queue_.test(handle / 2);
        }
        const auto found = under_way_.find(handle);
        if (!queue_.test(found->second.request, found->second.call)) return false;
        under_way_.erase(found);
        return true;
    }

    void wait(std::uintptr_t handle) override {
        const auto turn = take_turn();
        if (handle % 2 == 0) return queue_.wait(handle / 2);
        auto message = under_way_.extract(handle);
        queue_.wait(message.mapped().request, message.mapped().call);
    }

    bool wait_until(std::uintptr_t handle, Backoff::Clock::time_point end) override {
        const auto turn = take_turn();
        if (handle % 2 == 0) {
            queue_.note_absence();
            return queue_.wait_until(handle / 2, end);
        }
        auto message = under_way_.extract(handle);
        if (queue_.wait_until(message.mapped().request, message.mapped().call, end)) return true;
        under_way_.insert(std::move(message));
        return false;
    }

    void set_deadline(std::chrono::duration<double> deadline) override {
        const auto turn = take_turn();
        queue_.set_deadline(deadline);
    }

    void set_name(std::string_view name) override { queue_.trace.name_group(name); }

    SharedBuffer allocate(std::size_t bytes, const std::shared_ptr<CommunicatorBackend>& self) override {
        const auto turn = take_turn();
        free_released();
        throw_together<Error>(Communicator(self), Window::no_space(MpiPeers(node_), bytes));
        const auto window = std::make_shared<Window>(node_, bytes);
        windows_.push_back(window);
        std::vector<std::span<std::byte>> parts(static_cast<std::size_t>(size()));
        const auto& ranks = queue_.map.neighbours();
        for (std::size_t i = 0; i < ranks.size(); ++i)
            parts[static_cast<std::size_t>(ranks[i])] = window->part(static_cast<int>(i));
        // Keeps this backend alive, which frees the window at the latest.
        struct Owner {
            std::shared_ptr<CommunicatorBackend> backend;
            std::shared_ptr<Window> window;
        };
        return {std::make_shared<Owner>(Owner{self, window}), std::move(parts), rank()};
    }

    std::shared_ptr<CommunicatorBackend> split(int color, int key) override {
        // MPI's own waits have no deadline: this makes sure that all ranks have arrived before they begin.
        run({.operation = Operation::barrier});
        MPI_Comm part = MPI_COMM_NULL;
        check(MPI_Comm_split(collectives_, color, key, &part), "MPI_Comm_split");
        const OwnComm owner(part);
        return mpi_backend(part);
    }

    std::shared_ptr<CommunicatorBackend> subset(std::span<const int> ranks, int tag) override {
        note_agreed_failure(0);
        {
            const auto turn = take_turn();
            meet(queue_, ranks, tag);
        }
        const OwnComm owner(communicator_of(collectives_, ranks, tag));
        return mpi_backend(owner);
    }

    std::unique_ptr<Transport> open_transport() override {
        run({.operation = Operation::barrier});
        return mpi_transport(collectives_, node_, queue_.map);
    }

    std::unique_ptr<FailureMonitor> open_failure_monitor() override {
        run({.operation = Operation::barrier});
        return mpi_failure_monitor(collectives_, node_, queue_.map, deadline_);
    }

    MPI_Comm copy_for_mpi() override {
        run({.operation = Operation::barrier});
        return copy_of(collectives_);
    }

    std::string describe() const override {
        const int nodes = queue_.map.nodes();
        const auto where = fmt::format("{} on {}: ", counted(size(), "rank"), counted(nodes, "node"));
        if (nodes == 1) return where + "shared memory";
        return where +
               fmt::format(
                   "shared memory inside nodes; sums between nodes by recursive doubling up to {} KiB, "
                   "beyond by a ring",
                   max_doubled >> 10U) +
               (has_help() ? "; a thread lets them go on while ranks compute" : "");
    }

  private:
    struct Message {
        MPI_Request request = MPI_REQUEST_NULL;
        Call call;
    };

    std::uint64_t start_collective(const Call& call) {
        return queue_.start(call, [&](std::uint64_t number) {
            return queue_.map.nodes() == 1 ? on_one_node(queue_, call, number)
                                           : across_nodes(queue_, call, number);
        });
    }

    Request start_message(const Call& call) {
        if (call.count > INT_MAX)
            throw Error(fmt::format("{} of {} bytes: a message has {} at most", name_of(call.operation),
                                    call.count, INT_MAX));
        note_agreed_failure(0);
        const auto handle = ++messages_started_ * 2 + 1;
        auto& message = under_way_[handle];
        message.call = call;
        message.call.ticket = queue_.trace.begin_call(call);
        const int count = static_cast<int>(call.count);
        const int peer = call.peer == any_rank ? MPI_ANY_SOURCE : call.peer;
        check(call.operation == Operation::send
                  ? MPI_Isend(call.send, count, MPI_BYTE, peer, call.tag, messages_, &message.request)
                  : MPI_Irecv(call.receive, count, MPI_BYTE, peer, call.tag, messages_, &message.request),
              call.operation == Operation::send ? "MPI_Isend" : "MPI_Irecv");
        return {this, handle};
    }

    /// Frees the windows that no rank uses any longer.
    void free_released() {
        std::vector<std::uint8_t> released;
        for (const auto& window : windows_) released.push_back(window.use_count() == 1 ? 1 : 0);
        run({.operation = Operation::allreduce,
             .element = DataType::uint8,
             .reduction = Reduction::min,
             .send = std::as_bytes(std::span(released)).data(),
             .receive = std::as_writable_bytes(std::span(released)).data(),
             .count = released.size()});
        for (std::size_t i = released.size(); i-- > 0;)
            if (released[i] != 0) windows_.erase(windows_.begin() + static_cast<std::ptrdiff_t>(i));
    }

    std::optional<trace::ScopedOperation> freed_;  ///< ends when all below are freed
    OwnComm collectives_;
    OwnComm messages_;
    OwnComm node_;
    std::vector<std::shared_ptr<Window>> windows_;
    std::chrono::seconds deadline_;
    OperationQueue queue_;
    std::uintptr_t messages_started_ = 0;
    std::map<std::uintptr_t, Message> under_way_;
};

}  // namespace

std::shared_ptr<CommunicatorBackend> mpi_backend(MPI_Comm parent) {
    return std::make_shared<MpiBackend>(parent, Environment::of_this_process());
}

}  // namespace dtrain::comm

namespace dtrain {

Communicator mpi_world() {
    if (!comm::mpi_is_running()) throw Error("MPI is not running: make an MpiSession first and keep it");
    Communicator world(comm::mpi_backend(MPI_COMM_WORLD));
    comm::note_own_node_rank(world.node_rank());
    comm::note_own_world_size(world.size());
    return world;
}

}  // namespace dtrain
