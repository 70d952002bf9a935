// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/operation_queue.hpp"

#include <algorithm>
#include <sched.h>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "comm/announced.hpp"
#include "comm/deadline.hpp"
#include "comm/leaving.hpp"
#include "comm/mpi_error.hpp"
#include "comm/progress_thread.hpp"

namespace dtrain::comm {
namespace {

// How often a sleeping rank checks for deadlines and alarms and progresses MPI: data that this rank has sent,
// even in a collective operation that is complete here, may arrive only while it calls MPI.
constexpr std::chrono::milliseconds short_sleep{1};
constexpr std::chrono::milliseconds long_sleep{10};
constexpr std::chrono::duration<double> short_sleeps_for{0.2};
// During this time a wait for MPI only yields the processor.
constexpr std::chrono::duration<double> no_sleep{0.05};

/// All queues of this process: while one communicator waits, the others must progress.
std::vector<OperationQueue*>& groups() {
    // Never destroyed: the progress thread may access it until the process ends.
    static auto* all = new std::vector<OperationQueue*>;
    return *all;
}

int rank_in(MPI_Comm communicator) {
    int rank = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    return rank;
}

}  // namespace

OperationQueue::OperationQueue(MPI_Comm all, MPI_Comm node, NodeMap where, std::chrono::seconds deadline)
    : communicator(all),
      map(std::move(where)),
      board(node),
      other_memory(node),
      rank(rank_in(all)),
      size(static_cast<int>(map.node_of.size())),
      sources(map.neighbours().size()),
      destinations(sources.size()),
      world_ranks_(world_ranks(all)),
      crowded_(is_crowded(node)),
      deadline_(deadline),
      side_channel_(all, map) {
    const auto turn = take_turn();
    groups().push_back(this);
}

OperationQueue::~OperationQueue() {
    const auto turn = take_turn();
    std::erase(groups(), this);
    // Unfinished operations are referenced by MPI and by ranks that may still write to their buffers.
    for (auto number = completed_ + 1; number <= started_; ++number) task(number).abandon();
}

const std::vector<std::byte*>& OperationQueue::parts_of(const Window& window) {
    auto& parts = parts_[window.id()];
    if (parts.empty())
        for (const int neighbour : map.neighbours())
            parts.push_back(
                window.part_of_world_rank(world_ranks_[static_cast<std::size_t>(neighbour)]).data());
    return parts;
}

std::uint64_t OperationQueue::next_number() {
    note_agreed_failure(0);
    if (board.alarm() != 0) give_up({});
    const auto number = started_ + 1;
    if (!board.has_room(number)) {
        Backoff backoff(crowded_);
        while (!board.has_room(number)) {
            if (progress()) backoff.renew();
            if (backoff.pass_moment()) continue;
            sleep({.what = Wait::For::requests}, backoff.waited());
            check_deadline(backoff);
        }
    }
    return started_ = number;
}

void OperationQueue::add(std::uint64_t number, Task made) {
    task(number) = std::move(made);
    task(number).resume();
    progress();
}

bool OperationQueue::let_all_go_on() {
    bool any_left = false;
    for (auto* queue : groups()) {
        if (queue->map.nodes() == 1) continue;
        queue->progress();
        any_left = any_left || queue->works();
    }
    return any_left;
}

bool OperationQueue::is_over(const Wait& wait) {
    switch (wait.what) {
        case Wait::For::turn:
            return true;
        case Wait::For::come:
            return !board.not_come(wait.value);
        case Wait::For::steps:
            return !board.not_stepped(wait.value);
        case Wait::For::requests:
            for (auto& request : wait.requests) {
                int complete = 1;
                request_error_ = MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
                if (request_error_ != MPI_SUCCESS) return true;
                if (complete == 0) return false;
            }
            return true;
    }
    return true;
}

bool OperationQueue::progress() {
    bool any = false;
    while (works()) {
        auto& front = task(completed_ + 1);
        if (!front.done()) {
            if (!is_over(front.waits())) break;
            if (request_error_ == MPI_SUCCESS) front.resume();
        }
        any = true;
        if (request_error_ != MPI_SUCCESS || front.done()) complete_front();
    }
    return any;
}

void OperationQueue::complete_front() {
    const auto number = completed_ + 1;
    auto& front = task(number);
    if (request_error_ != MPI_SUCCESS) {
        const auto operation = std::string(name_of(board.whereabouts(board.rank()).operation));
        failures_[number] =
            std::make_exception_ptr(MpiError(operation, std::exchange(request_error_, MPI_SUCCESS)));
        front.abandon();
    } else if (auto failure = front.failure()) {
        failures_[number] = std::move(failure);
    }
    front = {};
    completed_ = number;
    board.note_finished(number);
}

bool OperationQueue::test(std::uint64_t number) {
    progress();
    if (completed_ < number) check_others_wait();
    if (completed_ >= number) wait(number);
    return completed_ >= number;
}

void OperationQueue::wait(std::uint64_t number) {
    wait_until(number, Backoff::Clock::time_point::max());
}

bool OperationQueue::wait_until(std::uint64_t number, Backoff::Clock::time_point end) {
    if (completed_ < number) {
        board.note_waits(number, board.announcement(board.rank(), number).operation);
        Backoff backoff(crowded_);
        while (completed_ < number) {
            if (progress()) {
                backoff.renew();
            } else if (!backoff.pass_moment()) {
                sleep(task(completed_ + 1).waits(), backoff.waited());
                check_deadline(backoff);
                if (Backoff::Clock::now() >= end) break;
            }
        }
        board.note_goes_on();
    }
    if (completed_ < number) return false;
    if (failures_.empty()) return true;
    if (const auto failure = failures_.extract(number)) std::rethrow_exception(failure.mapped());
    return true;
}

void OperationQueue::sleep(const Wait& wait, std::chrono::duration<double> waited) {
    bool others_work = map.nodes() > 1 || waited < short_sleeps_for;
    for (auto* other : groups()) {
        if (other == this) continue;
        others_work = others_work || other->works();
        other->progress();
    }
    int arrived = 0;
    check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator, &arrived, MPI_STATUS_IGNORE), "MPI_Iprobe");
    const auto max = others_work ? short_sleep : long_sleep;
    if (wait.what == Wait::For::come) {
        if (const auto missing = board.not_come(wait.value))
            board.sleep_until_come(*missing, wait.value, max);
    } else if (wait.what == Wait::For::steps) {
        if (const auto missing = board.not_stepped(wait.value))
            board.sleep_until_stepped(*missing, wait.value, max);
    } else if (waited < no_sleep) {
        ::sched_yield();
    } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

bool OperationQueue::others_gave_up() {
    return board.alarm() != 0 || side_channel_.hears_alarm();
}

bool OperationQueue::is_too_late(std::chrono::duration<double> waited) {
    return (deadline_.count() > 0 && waited > deadline_) || others_gave_up();
}

void OperationQueue::check_deadline(const Backoff& backoff) {
    if (const auto waited = backoff.waited(); is_too_late(waited)) give_up(waited);
}

void OperationQueue::check_others_wait() {
    if (others_gave_up()) give_up({});
}

void OperationQueue::give_up(std::chrono::duration<double> waited) {
    note_broken();
    if (works()) {
        const auto number = completed_ + 1;
        const auto operation = board.announcement(board.rank(), number).operation;
        auto away = missing(number);
        // The others' deadline passed when this wait had hardly begun: this rank was late.
        if (away.empty() && waited * 10 < deadline_) away.push_back({rank, "came too late"});
        throw reported(timeout(name_of(operation), number, waited, std::move(away), rank), world_ranks_);
    }
    const auto other = side_channel_.who_waits(board);
    const auto number = other ? other->waits_in : std::max(board.alarm(), started_);
    const auto operation = other ? other->waits_for : board.whereabouts(board.rank()).operation;
    throw reported(timeout(name_of(operation), number, waited, missing(number), rank), world_ranks_);
}

/// Adds the rank's number in the job if it differs: that is the one used in reports.
std::vector<MissingRank> OperationQueue::missing(std::uint64_t number) {
    auto missing = side_channel_.missing(map, board, number);
    for (auto& [other, why] : missing)
        if (const int in_job = world_ranks_[static_cast<std::size_t>(other)]; in_job != other)
            why = fmt::format("rank {} of the job; {}", in_job, why);
    return missing;
}

bool OperationQueue::test(MPI_Request& request, const Call& call) {
    int complete = 0;
    MPI_Status status;
    const int code = MPI_Test(&request, &complete, &status);
    check(code, std::string(name_of(call.operation)).c_str());
    if (complete != 0 && call.from != nullptr) *call.from = status.MPI_SOURCE;
    progress();
    return complete != 0;
}

void OperationQueue::wait(MPI_Request& request, const Call& call) {
    wait_until(request, call, Backoff::Clock::time_point::max());
}

bool OperationQueue::wait_until(MPI_Request& request, const Call& call, Backoff::Clock::time_point end) {
    Backoff backoff(crowded_);
    board.note_waits(started_ + 1, call.operation);
    while (!test(request, call)) {
        if (backoff.pass_moment()) continue;
        sleep({.what = Wait::For::requests}, backoff.waited());
        if (const auto waited = backoff.waited(); is_too_late(waited)) give_up_message(call, waited);
        if (Backoff::Clock::now() < end) continue;
        board.note_goes_on();
        return false;
    }
    board.note_goes_on();
    return true;
}

void OperationQueue::give_up_message(const Call& call, std::chrono::duration<double> waited) {
    note_broken();
    const auto name = name_of(call.operation);
    auto away = missing(started_ + 1);
    if (call.peer == any_rank) {
        std::erase_if(away, [&](const MissingRank& other) { return other.rank == rank; });
        throw reported(timeout_of_any(name, started_, waited, std::move(away)), world_ranks_);
    }
    std::erase_if(away, [&](const MissingRank& other) { return other.rank != call.peer; });
    throw reported(timeout(name, started_, waited, std::move(away), rank), world_ranks_);
}

}  // namespace dtrain::comm
