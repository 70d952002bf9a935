// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node_backend.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/huge_pages.hpp"
#include "base/random_id.hpp"
#include "base/text.hpp"
#include "comm/deadline.hpp"
#include "comm/mailbox.hpp"
#include "comm/node_operations.hpp"
#include "comm/node_rendezvous.hpp"
#include "comm/node_transport.hpp"
#include "comm/operation_queue.hpp"
#include "comm/peers.hpp"
#include "comm/progress_thread.hpp"
#include "comm/subset.hpp"
#include "comm/window.hpp"

namespace dtrain::comm {
namespace {

// How long ranks that have all come to a collective call may take to meet in it.
constexpr std::chrono::minutes meets_within{5};
constexpr int meeting_tag = 32768;  // one more than those of programs

std::size_t board_bytes() {
    return (NodeBoard::bytes_of_a_rank() + memory_page - 1) / memory_page * memory_page;
}

/// What a rank says at a split.
struct Membership {
    int color = 0;
    int key = 0;
    int rank = 0;
    int job_rank = 0;
    std::array<char, 33> name{};  ///< for the ranks of a color the name of the first one
};

std::vector<Membership> members_of(std::vector<Membership> all, int color) {
    std::erase_if(all, [color](const Membership& of_rank) { return of_rank.color != color; });
    std::ranges::stable_sort(all, {}, &Membership::key);
    return all;
}

class NodeBackend final : public CommunicatorBackend {
  public:
    NodeBackend(const NodeRanks& where, std::vector<int> job_ranks, std::chrono::seconds deadline)
        : ranks_(where, board_bytes() + Mailbox::bytes_of_a_rank(where.size)),
          job_ranks_(std::move(job_ranks)),
          deadline_(deadline),
          boards_(ranks_.parts()),
          queue_({.peers = ranks_,
                  .board = boards_,
                  .job_ranks = job_ranks_,
                  .why_gone = [this](int rank) { return ranks_.why_gone(rank); },
                  .note_given_up = [this] { ranks_.note_given_up(); },
                  .progress_messages = [this] { return mailbox_ && mailbox_->progress(); }},
                 deadline) {
        auto boxes = boards_;
        for (auto& memory : boxes) memory += board_bytes();
        mailbox_.emplace(queue_.rank, boxes, queue_.other_memory);
    }

    int rank() const override { return queue_.rank; }
    int size() const override { return queue_.size; }
    int nodes() const override { return 1; }
    int node() const override { return 0; }
    int node_rank() const override { return queue_.rank; }
    int node_size() const override { return queue_.size; }

    Request start(const Call& call) override {
        const auto turn = take_turn();
        if (is_message(call.operation)) return {this, start_message(call)};
        const auto number = start_collective(call);
        queue_.note_absence();
        return {this, number * 2};
    }

    void run(const Call& call) override {
        const auto turn = take_turn();
        if (is_message(call.operation)) return wait(start_message(call));
        queue_.wait(start_collective(call));
    }

    bool test(std::uintptr_t handle) override {
        const auto turn = take_turn();
        if (handle % 2 == 0) {
            queue_.note_absence();
            return queue_.test(handle / 2);
        }
        if (!queue_.test(messages_.at(handle / 2).call, is_complete(handle / 2))) return false;
        finish(handle / 2);
        return true;
    }

    void wait(std::uintptr_t handle) override {
        const auto turn = take_turn();
        if (handle % 2 == 0) return queue_.wait(handle / 2);
        queue_.wait(messages_.at(handle / 2).call, is_complete(handle / 2));
        finish(handle / 2);
    }

    bool wait_until(std::uintptr_t handle, Backoff::Clock::time_point end) override {
        const auto turn = take_turn();
        if (handle % 2 == 0) {
            queue_.note_absence();
            return queue_.wait_until(handle / 2, end);
        }
        auto& [call, waited] = messages_.at(handle / 2);
        if (!queue_.wait_until(call, is_complete(handle / 2), end, waited)) return false;
        finish(handle / 2);
        return true;
    }

    void set_deadline(std::chrono::duration<double> deadline) override {
        const auto turn = take_turn();
        queue_.set_deadline(deadline);
    }

    bool may_wait() const override { return queue_.is_intact() && !is_broken(); }

    SharedBuffer allocate(std::size_t bytes, const std::shared_ptr<CommunicatorBackend>& self) override {
        const auto turn = take_turn();
        // Buffers may be dropped in any thread, windows end in this one.
        std::erase_if(windows_, [](const auto& window) { return window.use_count() == 1; });
        const CommunicatorPeers peers{Communicator(self)};
        throw_together<Error>(Communicator(self), Window::no_space(peers, bytes));
        const auto window = std::make_shared<Window>(peers, bytes);
        windows_.push_back(window);
        std::vector<std::span<std::byte>> parts;
        for (int rank = 0; rank < size(); ++rank) parts.push_back(window->part(rank));
        struct Owner {
            std::shared_ptr<CommunicatorBackend> backend;
            std::shared_ptr<Window> window;
        };
        return {std::make_shared<Owner>(Owner{self, window}), std::move(parts), rank()};
    }

    std::shared_ptr<CommunicatorBackend> split(int color, int key) override {
        const auto own = membership(color, key);
        const auto members = members_of(gather(own), color);
        NodeRanks part{.name = members.front().name.data(),
                       .rank = 0,
                       .size = static_cast<int>(members.size()),
                       .timeout = meets_within};
        std::vector<int> job_ranks;
        for (const auto& member : members) {
            if (member.rank == rank()) part.rank = static_cast<int>(job_ranks.size());
            job_ranks.push_back(member.job_rank);
        }
        return node_backend(part, std::move(job_ranks), deadline_);
    }

    std::shared_ptr<CommunicatorBackend> subset(std::span<const int> ranks, int tag) override {
        const auto first = static_cast<std::size_t>(ranks.front());
        const auto place = std::ranges::find(ranks, rank()) - ranks.begin();
        auto of_first = membership(0, 0);
        {
            const auto turn = take_turn();
            Meeting meeting(*this);
            meet(meeting, ranks, rank(), tag);
            const auto bytes = std::as_writable_bytes(std::span(&of_first, 1));
            if (place > 0) meeting.receive(bytes, static_cast<int>(first));
            for (const int other : ranks.subspan(place > 0 ? ranks.size() : 1)) meeting.send(bytes, other);
            meeting.wait();
        }
        std::vector<int> job_ranks;
        for (const int listed : ranks) job_ranks.push_back(job_ranks_[static_cast<std::size_t>(listed)]);
        return node_backend({.name = of_first.name.data(),
                             .rank = static_cast<int>(place),
                             .size = static_cast<int>(ranks.size()),
                             .timeout = meets_within},
                            std::move(job_ranks), deadline_);
    }

    std::unique_ptr<Transport> open_transport() override {
        return node_transport(meet_again(Mailbox::bytes_of_a_rank(size())));
    }

    std::unique_ptr<FailureMonitor> open_failure_monitor() override {
        return node_failure_monitor(meet_again(NodeBoard::bytes_of_a_rank()), job_ranks_, deadline_);
    }

    MPI_Comm copy_for_mpi() override {
        throw Error("to_mpi: a communicator of node_communicator() has none of MPI");
    }

    std::string describe() const override {
        return fmt::format("{} on 1 node: shared memory, without MPI", counted(size(), "rank"));
    }

  private:
    struct Message {
        Call call;
        std::chrono::duration<double> waited{};
    };

    /// What ranks of a subset tell each other.
    class Meeting final : public MeetingMessages {
      public:
        explicit Meeting(NodeBackend& backend) : backend_(backend) {}
        Meeting(const Meeting&) = delete;
        Meeting& operator=(const Meeting&) = delete;
        ~Meeting() override {
            for (const auto& [message, peer] : started_)
                if (!backend_.mailbox_->is_complete(message)) backend_.mailbox_->forget(message);
        }

        void send(std::span<const std::byte> value, int to) override {
            // Stays with the backend: a ring without room takes it later, also if this meeting fails.
            const auto& kept = backend_.sent_in_meetings_.emplace_back(value.begin(), value.end());
            started_.push_back({backend_.mailbox_->send(to, meeting_tag, kept), to});
        }
        void receive(std::span<std::byte> value, int from) override {
            started_.push_back({backend_.mailbox_->receive(from, meeting_tag, value), from});
        }
        void wait() override {
            for (; !started_.empty(); started_.pop_back()) {
                const auto [message, peer] = started_.back();
                backend_.queue_.wait({.operation = Operation::subset, .peer = peer},
                                     backend_.is_complete(message));
                backend_.mailbox_->finish(message);
            }
        }

      private:
        struct Started {
            Mailbox::Handle message;
            int peer;
        };
        NodeBackend& backend_;
        std::vector<Started> started_;
    };

    std::uint64_t start_collective(const Call& call) {
        return queue_.start([&](std::uint64_t number) { return on_one_node(queue_, call, number); });
    }

    std::uintptr_t start_message(const Call& call) {
        const auto message = call.operation == Operation::send
                                 ? mailbox_->send(call.peer, call.tag, {call.send, call.count})
                                 : mailbox_->receive(call.peer, call.tag, {call.receive, call.count});
        messages_[message] = {call, {}};
        return message * 2 + 1;
    }

    std::function<bool()> is_complete(Mailbox::Handle message) {
        return [this, message] {
            if (!mailbox_->is_complete(message)) queue_.progress();
            return mailbox_->is_complete(message);
        };
    }

    void finish(Mailbox::Handle message) {
        const auto call = messages_.extract(message).mapped().call;
        if (call.from != nullptr) *call.from = mailbox_->peer_of(message);
        try {
            mailbox_->finish(message);
        } catch (const MemoryGone&) {
            std::rethrow_exception(
                queue_.failure_of(call.operation, queue_.last_number() + 1, std::current_exception()));
        }
    }

    Membership membership(int color, int key) const {
        Membership own{.color = color,
                       .key = key,
                       .rank = rank(),
                       .job_rank = job_ranks_[static_cast<std::size_t>(rank())]};
        random_id().copy(own.name.data(), own.name.size() - 1);
        return own;
    }

    std::vector<Membership> gather(const Membership& own) {
        std::vector<Membership> all(static_cast<std::size_t>(size()));
        const auto to = std::as_writable_bytes(std::span(all));
        run({.operation = Operation::all_gather,
             .send = std::as_bytes(std::span(&own, 1)).data(),
             .receive = to.data(),
             .count = sizeof(own)});
        return all;
    }

    std::unique_ptr<NodeRendezvous> meet_again(std::size_t bytes_of_a_rank) {
        const auto first = gather(membership(0, rank())).front();
        return std::make_unique<NodeRendezvous>(NodeRanks{first.name.data(), rank(), size(), meets_within},
                                                bytes_of_a_rank);
    }

    NodeRendezvous ranks_;
    std::vector<int> job_ranks_;
    std::chrono::seconds deadline_;
    std::vector<std::byte*> boards_;
    OperationQueue queue_;
    std::optional<Mailbox> mailbox_;
    std::map<Mailbox::Handle, Message> messages_;
    std::deque<std::vector<std::byte>> sent_in_meetings_;
    std::vector<std::shared_ptr<Window>> windows_;
};

}  // namespace

std::shared_ptr<CommunicatorBackend> node_backend(const NodeRanks& ranks, std::vector<int> job_ranks,
                                                  std::chrono::seconds deadline) {
    return std::make_shared<NodeBackend>(ranks, std::move(job_ranks), deadline);
}

}  // namespace dtrain::comm
