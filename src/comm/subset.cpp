// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/subset.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "comm/mpi_error.hpp"

namespace dtrain::comm {
namespace {

constexpr int meeting_tag = 2;  // on the queue's communicator, where leaders.cpp uses 1

/// What a rank tells the first one of its list.
struct Plan {
    std::int64_t tag = 0;
    std::int64_t count = 0;
    std::uint64_t hash = 0;
    friend bool operator==(const Plan&, const Plan&) = default;
};

Plan plan_of(std::span<const int> ranks, int tag) {
    Plan plan{.tag = tag, .count = std::ssize(ranks), .hash = 14695981039346656037U};  // FNV-1a
    for (const int rank : ranks) plan.hash = (plan.hash ^ static_cast<std::uint64_t>(rank)) * 1099511628211U;
    return plan;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

template <class T>
std::span<std::byte> bytes_of(T& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

/// The first rank of the list compares all plans and tells the others the place of the first one that differs
/// from its own, or 0.
std::int64_t compare(MeetingMessages& messages, std::span<const int> ranks, const Plan& own) {
    std::vector<Plan> plans(ranks.size(), own);
    for (std::size_t i = 1; i < ranks.size(); ++i) messages.receive(bytes_of(plans[i]), ranks[i]);
    messages.wait();
    const auto other = std::ranges::find_if(plans, [&](const Plan& plan) { return plan != own; });
    const std::int64_t differs = other == plans.end() ? 0 : other - plans.begin();
    for (const int rank : ranks.subspan(1)) messages.send(bytes_of(differs), rank);
    messages.wait();
    return differs;
}

std::int64_t ask(MeetingMessages& messages, int first, const Plan& own) {
    std::int64_t differs = 0;
    messages.send(bytes_of(own), first);
    messages.receive(bytes_of(differs), first);
    messages.wait();
    return differs;
}

class MpiMeetingMessages final : public MeetingMessages {
  public:
    MpiMeetingMessages(OperationQueue& queue, std::size_t ranks) : queue_(queue) {
        requests_.reserve(2 * ranks);
    }
    MpiMeetingMessages(const MpiMeetingMessages&) = delete;
    MpiMeetingMessages& operator=(const MpiMeetingMessages&) = delete;
    ~MpiMeetingMessages() override {
        for (auto& [request, peer] : requests_)
            if (request != MPI_REQUEST_NULL) {
                MPI_Cancel(&request);
                MPI_Request_free(&request);
            }
    }

    void send(std::span<const std::byte> value, int to) override {
        check(MPI_Isend(value.data(), static_cast<int>(value.size()), MPI_BYTE, to, meeting_tag,
                        queue_.communicator, next(to)),
              "MPI_Isend");
    }

    void receive(std::span<std::byte> value, int from) override {
        check(MPI_Irecv(value.data(), static_cast<int>(value.size()), MPI_BYTE, from, meeting_tag,
                        queue_.communicator, next(from)),
              "MPI_Irecv");
    }

    void wait() override {
        for (auto& [request, peer] : requests_)
            queue_.wait(request, {.operation = Operation::subset, .peer = peer});
        requests_.clear();
    }

  private:
    struct Message {
        MPI_Request request = MPI_REQUEST_NULL;
        int peer = 0;
    };

    MPI_Request* next(int peer) { return &requests_.emplace_back(Message{.peer = peer}).request; }

    OperationQueue& queue_;
    std::vector<Message> requests_;
};

}  // namespace

void check_subset(std::span<const int> ranks, int rank, int size) {
    std::vector<bool> is_listed(static_cast<std::size_t>(size));
    for (const int listed : ranks) {
        if (listed < 0 || listed >= size)
            throw UsageError(fmt::format("subset with rank {}: ranks are 0 to {}", listed, size - 1));
        if (is_listed[static_cast<std::size_t>(listed)])
            throw UsageError(fmt::format("subset with rank {} twice: list each rank once", listed));
        is_listed[static_cast<std::size_t>(listed)] = true;
    }
    if (!is_listed[static_cast<std::size_t>(rank)])
        throw UsageError(fmt::format("subset without rank {}, which called it: only listed ranks do", rank));
}

void meet(MeetingMessages& messages, std::span<const int> ranks, int rank, int tag) {
    const auto own = plan_of(ranks, tag);
    const int first = ranks.front();
    const auto differs = rank == first ? compare(messages, ranks, own) : ask(messages, first, own);
    if (differs == 0) return;
    const auto place = std::min<std::size_t>(static_cast<std::size_t>(differs), ranks.size() - 1);
    throw Error(
        fmt::format("subset: rank {} passes another list of ranks, or another tag, than rank {} does; "
                    "all listed ranks must pass the same (here: {} ranks, tag {})",
                    ranks[place], first, ranks.size(), tag));
}

void meet(OperationQueue& queue, std::span<const int> ranks, int tag) {
    MpiMeetingMessages messages(queue, ranks.size());
    meet(messages, ranks, queue.rank, tag);
}

MPI_Comm communicator_of(MPI_Comm parent, std::span<const int> ranks, int tag) {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group listed = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    check(MPI_Comm_group(parent, &all), "MPI_Comm_group");
    const int incl = MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &listed);
    const int created = incl == MPI_SUCCESS ? MPI_Comm_create_group(parent, listed, tag, &made) : incl;
    MPI_Group_free(&all);
    if (listed != MPI_GROUP_NULL) MPI_Group_free(&listed);
    check(created, incl == MPI_SUCCESS ? "MPI_Comm_create_group" : "MPI_Group_incl");
    return made;
}

}  // namespace dtrain::comm
