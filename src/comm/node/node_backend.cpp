// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/node_backend.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/huge_pages.hpp"
#include "base/random_id.hpp"
#include "base/text.hpp"
#include "comm/api/subset.hpp"
#include "comm/failure/deadline.hpp"
#include "comm/message/mailbox.hpp"
#include "comm/message/node_transport.hpp"
#include "comm/mpi/operation_queue.hpp"
#include "comm/mpi/progress_thread.hpp"
#include "comm/node/node_operations.hpp"
#include "comm/node/node_rendezvous.hpp"
#include "comm/node/peers.hpp"
#include "comm/node/window.hpp"

namespace dtrain::comm {
namespace {

// How long ranks that have all come to a collective call may take to meet in it.
constexpr std::chrono::minutes meets_within{5};
// Of messages between the ranks of a future subset: programs' tags are lower.
constexpr int subset_tag = 1 << 20;

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
                  .has_left = [this](int rank) { return ranks_.has_left(rank); },
                  .note_given_up = [this] { ranks_.note_given_up(); },
                  .progress_messages = [this] { return progress_messages(); }},
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
        const auto& call = messages_.at(handle / 2);
        if (!queue_.test(call, is_complete(handle / 2))) return false;
        finish(handle / 2);
        return true;
    }

    void wait(std::uintptr_t handle) override {
        const auto turn = take_turn();
        if (handle % 2 == 0) return queue_.wait(handle / 2);
        queue_.wait(messages_.at(handle / 2), is_complete(handle / 2));
        finish(handle / 2);
    }

    bool wait_until(std::uintptr_t handle, Backoff::Clock::time_point end) override {
        const auto turn = take_turn();
        if (handle % 2 == 0) {
            queue_.note_absence();
            return queue_.wait_until(handle / 2, end);
        }
        if (!queue_.wait_until(messages_.at(handle / 2), is_complete(handle / 2), end)) return false;
        finish(handle / 2);
        return true;
    }

    bool may_wait() const override { return queue_.is_intact(); }

    void set_deadline(std::chrono::duration<double> deadline) override {
        const auto turn = take_turn();
        queue_.set_deadline(deadline);
    }

    void set_name(std::string_view name) override { queue_.trace.name_group(name); }

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
        const auto turn = take_turn();
        const auto answer = rank() == ranks.front() ? answer_others(ranks, tag) : ask_first(ranks, tag);
        check_same_plan(answer.differing, ranks, tag);
        NodeRanks part{.name = answer.name.data(),
                       .rank = static_cast<int>(std::ranges::find(ranks, rank()) - ranks.begin()),
                       .size = static_cast<int>(ranks.size()),
                       .timeout = meets_within};
        std::vector<int> job_ranks;
        for (const int listed : ranks) job_ranks.push_back(job_ranks_[static_cast<std::size_t>(listed)]);
        return node_backend(part, std::move(job_ranks), deadline_);
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
    std::uint64_t start_collective(const Call& call) {
        return queue_.start(call, [&](std::uint64_t number) { return on_one_node(queue_, call, number); });
    }

    /// Buffers of messages that were given up may no longer be there.
    bool progress_messages() { return mailbox_ && queue_.is_intact() && mailbox_->progress(); }

    std::uintptr_t start_message(const Call& call) {
        const auto message = call.operation == Operation::send || call.send != nullptr
                                 ? mailbox_->send(call.peer, call.tag, {call.send, call.count})
                                 : mailbox_->receive(call.peer, call.tag, {call.receive, call.count});
        auto& begun = messages_[message] = call;
        begun.ticket = queue_.trace.begin_call(call);
        return message * 2 + 1;
    }

    std::function<bool()> is_complete(Mailbox::Handle message) {
        return [this, message] {
            if (!mailbox_->is_complete(message)) queue_.progress();
            return mailbox_->is_complete(message);
        };
    }

    void finish(Mailbox::Handle message) {
        const auto call = messages_.extract(message).mapped();
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

    /// What the first rank of a subset tells the others.
    struct Answer {
        int differing = no_rank;  // differing_rank()
        std::array<char, 33> name{};
    };

    template <class T>
    std::uintptr_t start_saying(const T& value, int to, int tag) {
        return start_message({.operation = Operation::subset,
                              .send = std::as_bytes(std::span(&value, 1)).data(),
                              .count = sizeof(T),
                              .peer = to,
                              .tag = tag});
    }

    template <class T>
    T hear(int from, int tag) {
        T value;
        wait(start_message({.operation = Operation::subset,
                            .receive = std::as_writable_bytes(std::span(&value, 1)).data(),
                            .count = sizeof(T),
                            .peer = from,
                            .tag = tag}));
        return value;
    }

    Answer answer_others(std::span<const int> ranks, int tag) {
        std::vector<SubsetPlan> plans{subset_plan(ranks, tag)};
        for (const int other : ranks.subspan(1)) plans.push_back(hear<SubsetPlan>(other, subset_tag));
        Answer answer{.differing = differing_rank(ranks, plans)};
        random_id().copy(answer.name.data(), answer.name.size() - 1);
        for (const int other : ranks.subspan(1)) wait(start_saying(answer, other, subset_tag));
        return answer;
    }

    Answer ask_first(std::span<const int> ranks, int tag) {
        const auto plan = subset_plan(ranks, tag);
        wait(start_saying(plan, ranks.front(), subset_tag));
        return hear<Answer>(ranks.front(), subset_tag);
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
    std::map<Mailbox::Handle, Call> messages_;
    std::vector<std::shared_ptr<Window>> windows_;
};

}  // namespace

std::shared_ptr<CommunicatorBackend> node_backend(const NodeRanks& ranks, std::vector<int> job_ranks,
                                                  std::chrono::seconds deadline) {
    return std::make_shared<NodeBackend>(ranks, std::move(job_ranks), deadline);
}

}  // namespace dtrain::comm
