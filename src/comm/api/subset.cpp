// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/api/subset.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "comm/mpi/mpi_error.hpp"

namespace dtrain::comm {
namespace {

constexpr int meeting_tag = 2;  // on the queue's communicator, where leaders.cpp uses 1

/// Messages of a few bytes whose memory must stay until they are complete, or given up.
class Meeting {
  public:
    Meeting(OperationQueue& queue, std::size_t messages) : queue_(queue) { requests_.reserve(messages); }
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;
    ~Meeting() {  // NOLINT(modernize-use-equals-default): clang-tidy 19 takes the loop for nothing
        for (auto& [request, peer] : requests_)
            if (request != MPI_REQUEST_NULL) {
                MPI_Cancel(&request);
                MPI_Request_free(&request);
            }
    }

    template <class T>
    void send(const T& value, int to) {
        check(MPI_Isend(&value, sizeof(T), MPI_BYTE, to, meeting_tag, queue_.communicator, next(to)),
              "MPI_Isend");
    }

    template <class T>
    void receive(T& value, int from) {
        check(MPI_Irecv(&value, sizeof(T), MPI_BYTE, from, meeting_tag, queue_.communicator, next(from)),
              "MPI_Irecv");
    }

    void wait() {
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

/// The first rank of the list compares all plans and tells the others the first rank with another one.
int compare(OperationQueue& queue, std::span<const int> ranks, const SubsetPlan& own) {
    std::vector<SubsetPlan> plans(ranks.size(), own);
    Meeting meeting(queue, ranks.size());
    for (std::size_t i = 1; i < ranks.size(); ++i) meeting.receive(plans[i], ranks[i]);
    meeting.wait();
    const int differs = differing_rank(ranks, plans);
    for (const int rank : ranks.subspan(1)) meeting.send(differs, rank);
    meeting.wait();
    return differs;
}

int ask(OperationQueue& queue, int first, const SubsetPlan& own) {
    int differs = no_rank;
    Meeting meeting(queue, 2);
    meeting.send(own, first);
    meeting.receive(differs, first);
    meeting.wait();
    return differs;
}

}  // namespace

void check_listed(std::string_view what, std::span<const int> ranks, int size) {
    std::vector<bool> is_listed(static_cast<std::size_t>(size));
    for (const int listed : ranks) {
        if (listed < 0 || listed >= size)
            throw UsageError(fmt::format("{} with rank {}: ranks are 0 to {}", what, listed, size - 1));
        if (is_listed[static_cast<std::size_t>(listed)])
            throw UsageError(fmt::format("{} with rank {} twice: list each rank once", what, listed));
        is_listed[static_cast<std::size_t>(listed)] = true;
    }
}

void check_subset(std::span<const int> ranks, int rank, int size) {
    check_listed("subset", ranks, size);
    if (std::ranges::find(ranks, rank) == ranks.end())
        throw UsageError(fmt::format("subset without rank {}, which called it: only listed ranks do", rank));
}

SubsetPlan subset_plan(std::span<const int> ranks, int tag) {
    SubsetPlan plan{.tag = tag, .count = std::ssize(ranks), .hash = 14695981039346656037U};  // FNV-1a
    for (const int rank : ranks) plan.hash = (plan.hash ^ static_cast<std::uint64_t>(rank)) * 1099511628211U;
    return plan;
}

int differing_rank(std::span<const int> ranks, std::span<const SubsetPlan> plans) {
    const auto other =
        std::ranges::find_if(plans, [&](const SubsetPlan& plan) { return plan != plans.front(); });
    return other == plans.end() ? no_rank : ranks[static_cast<std::size_t>(other - plans.begin())];
}

void check_same_plan(int differing, std::span<const int> ranks, int tag) {
    if (differing == no_rank) return;
    throw Error(
        fmt::format("subset: rank {} passes another list of ranks, or another tag, than rank {} does; "
                    "all listed ranks must pass the same (here: {} ranks, tag {})",
                    differing, ranks.front(), ranks.size(), tag));
}

void meet(OperationQueue& queue, std::span<const int> ranks, int tag) {
    const auto own = subset_plan(ranks, tag);
    const int first = ranks.front();
    check_same_plan(queue.rank == first ? compare(queue, ranks, own) : ask(queue, first, own), ranks, tag);
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
