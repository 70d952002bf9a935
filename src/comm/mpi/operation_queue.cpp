// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/operation_queue.hpp"

#include <algorithm>
#include <sched.h>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "comm/failure/deadline.hpp"
#include "comm/failure/leaving.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/mpi/progress_thread.hpp"
#include "comm/node/announced.hpp"
#include "comm/node/peers.hpp"

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

// How often a waiting rank looks for others that have ended.
constexpr std::chrono::milliseconds looks_every{100};
// A process gives back its memory shortly before the system says that it has ended.
constexpr std::chrono::seconds gone_is_seen_within{1};

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
      other_memory(MpiPeers(node)),
      rank(rank_in(all)),
      size(static_cast<int>(map.node_of.size())),
      trace(rank, world_ranks(all)),
      sources(map.neighbours().size()),
      destinations(sources.size()),
      world_ranks_(world_ranks(all)),
      crowded_(is_crowded(MpiPeers(node))),
      deadline_(deadline),
      side_channel_(all, map) {
    const auto turn = take_turn();
    groups().push_back(this);
}

OperationQueue::OperationQueue(QueueOnNode ranks, std::chrono::seconds deadline)
    : communicator(MPI_COMM_NULL),
      map(make_node_map(std::vector<int>(ranks.board.size()), ranks.peers.rank())),
      board(ranks.peers.rank(), ranks.board),
      other_memory(ranks.peers),
      rank(ranks.peers.rank()),
      size(ranks.peers.size()),
      trace(rank, ranks.job_ranks),
      sources(map.neighbours().size()),
      destinations(sources.size()),
      world_ranks_(std::move(ranks.job_ranks)),
      why_gone_(std::move(ranks.why_gone)),
      has_left_(std::move(ranks.has_left)),
      note_given_up_(std::move(ranks.note_given_up)),
      progress_messages_(std::move(ranks.progress_messages)),
      crowded_(is_crowded(ranks.peers)),
      deadline_(deadline),
      side_channel_(MPI_COMM_NULL, map) {
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
        for (const auto mark : other_memory.marks()) parts.push_back(window.part_of_process(mark).data());
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
            check_deadline(backoff.waited());
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
    bool any = progress_messages_ && progress_messages_();
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
        failures_[number] =
            failure_of(board.announcement(board.rank(), number).operation, number, std::move(failure));
    }
    front = {};
    completed_ = number;
    board.note_finished(number);
    trace.end(number);
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
        trace.waits(number);
        Backoff backoff(crowded_);
        auto before = std::exchange(waited_, {});  // by calls whose time was over
        while (completed_ < number) {
            if (progress()) {
                backoff.renew();
                before = {};
            } else if (!backoff.pass_moment()) {
                sleep(task(completed_ + 1).waits(), backoff.waited());
                check_deadline(before + backoff.waited());
                if (Backoff::Clock::now() < end) continue;
                waited_ = before + backoff.waited();
                break;
            }
        }
        board.note_goes_on();
        if (completed_ < number) trace.goes_on(number);
    }
    if (completed_ < number) return false;
    if (failures_.empty()) return true;
    if (const auto failure = failures_.extract(number)) std::rethrow_exception(failure.mapped());
    return true;
}

void OperationQueue::sleep(const Wait& wait, std::chrono::duration<double> waited) {
    bool others_work = map.nodes() > 1 || progress_messages_ || waited < short_sleeps_for;
    for (auto* other : groups()) {
        if (other == this) continue;
        others_work = others_work || other->works();
        other->progress();
        if (communicator == MPI_COMM_NULL) other->let_mpi_work();
    }
    let_mpi_work();
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

void OperationQueue::let_mpi_work() const {
    if (communicator == MPI_COMM_NULL || !mpi_is_running()) return;
    int arrived = 0;
    check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator, &arrived, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

bool OperationQueue::others_gave_up() {
    return board.alarm() != 0 || side_channel_.hears_alarm();
}

bool OperationQueue::is_too_late(std::chrono::duration<double> waited) {
    return (deadline_.count() > 0 && waited > deadline_) || others_gave_up() || have_ranks_gone();
}

/// Ranks that will not finish this operation, because they have ended before it.
std::vector<MissingRank> OperationQueue::gone(std::uint64_t number) const {
    std::vector<MissingRank> ranks;
    if (!why_gone_) return ranks;
    for (int other = 0; other < size; ++other)
        if (other != rank && board.whereabouts(other).finished < number)
            if (const auto why = why_gone_(other); why && board.whereabouts(other).finished < number)
                ranks.push_back({other, *why});
    return ranks;
}

bool OperationQueue::have_ranks_gone() {
    if (!why_gone_ || Backoff::Clock::now() < next_look_) return false;
    next_look_ = Backoff::Clock::now() + looks_every;
    return !gone(works() ? completed_ + 1 : started_).empty();
}

void OperationQueue::note_given_up() {
    is_intact_ = false;
    if (note_given_up_) note_given_up_();
    if (communicator != MPI_COMM_NULL || mpi_is_running()) note_broken();
}

/// Ranks because of which a neighbour's memory is gone.
std::vector<MissingRank> OperationQueue::ended_with_memory_of(int neighbour) const {
    if (auto why = why_gone_ ? why_gone_(neighbour) : other_memory.why_gone(neighbour))
        return {{map.neighbours()[static_cast<std::size_t>(neighbour)], std::move(*why)}};
    return board.alarm() != 0 ? gone(board.alarm())  // it had given up because of another one
                              : std::vector<MissingRank>();
}

std::exception_ptr OperationQueue::failure_of(Operation operation, std::uint64_t number,
                                              std::exception_ptr failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const MemoryGone& of) {
        const auto end = Backoff::Clock::now() + gone_is_seen_within;
        while (Backoff::Clock::now() < end) {
            if (auto ended = ended_with_memory_of(of.rank()); !ended.empty()) {
                note_given_up();
                if (why_gone_) board.raise_alarm(number);  // mpirun ends the others
                name_in_job(ended);
                return std::make_exception_ptr(
                    reported(timeout(name_of(operation), number, {}, std::move(ended), rank), world_ranks_));
            }
            std::this_thread::sleep_for(short_sleep);
        }
        return failure;
    } catch (...) {
        return failure;
    }
}

void OperationQueue::check_deadline(std::chrono::duration<double> waited) {
    // What the others did before they gave up or ended may be all that this operation needs.
    if (is_too_late(waited) && !progress()) give_up(waited);
}

void OperationQueue::check_others_wait() {
    if ((others_gave_up() || have_ranks_gone()) && !progress()) give_up({});
}

void OperationQueue::give_up(std::chrono::duration<double> waited) {
    note_given_up();
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

std::vector<MissingRank> OperationQueue::missing(std::uint64_t number) {
    auto missing = side_channel_.missing(map, board, number);
    if (auto ended = gone(number); !ended.empty()) missing = std::move(ended);
    name_in_job(missing);
    return missing;
}

/// Adds the rank's number in the job if it differs: that is the one used in reports.
void OperationQueue::name_in_job(std::vector<MissingRank>& ranks) const {
    for (auto& [other, why] : ranks)
        if (const int in_job = world_ranks_[static_cast<std::size_t>(other)]; in_job != other)
            why = fmt::format("rank {} of the job; {}", in_job, why);
}

bool OperationQueue::test(MPI_Request& request, const Call& call) {
    int complete = 0;
    MPI_Status status;
    const int code = MPI_Test(&request, &complete, &status);
    check(code, std::string(name_of(call.operation)).c_str());
    if (complete != 0 && call.from != nullptr) *call.from = status.MPI_SOURCE;
    if (complete != 0) trace.end(call);
    progress();
    return complete != 0;
}

void OperationQueue::wait(MPI_Request& request, const Call& call) {
    wait(call, [&] { return test(request, call); });
}

bool OperationQueue::wait_until(MPI_Request& request, Call& call, Backoff::Clock::time_point end) {
    return wait_until(
        call, [&] { return test(request, call); }, end);
}

void OperationQueue::wait(const Call& call, const std::function<bool()>& is_complete) {
    auto own = call;
    wait_until(own, is_complete, Backoff::Clock::time_point::max());
}

bool OperationQueue::wait_until(Call& call, const std::function<bool()>& is_complete,
                                Backoff::Clock::time_point end) {
    Backoff backoff(crowded_);
    board.note_waits(started_ + 1, call.operation);
    trace.waits(call);
    bool is_over = false;
    while (!(is_over = is_complete())) {
        if (backoff.pass_moment()) continue;
        sleep({.what = Wait::For::requests}, backoff.waited());
        check_peer(call, call.waited + backoff.waited(), is_complete);
        if (Backoff::Clock::now() < end) continue;
        call.waited += backoff.waited();
        break;
    }
    board.note_goes_on();
    if (is_over)
        trace.end(call);
    else
        trace.goes_on(call);
    return is_over;
}

bool OperationQueue::test(const Call& call, const std::function<bool()>& is_complete) {
    if (!is_complete()) {
        progress();
        check_peer(call, {}, is_complete);
    }
    const bool is_over = is_complete();
    if (is_over) trace.end(call);
    return is_over;
}

/// Ranks without which the message cannot come: its other rank; of any rank those that did not go in order,
/// or all.
std::vector<MissingRank> OperationQueue::gone_for(const Call& message) const {
    std::vector<MissingRank> ranks;
    if (!why_gone_) return ranks;
    for (int other = 0; other < size; ++other) {
        if (other == rank || (message.peer != any_rank && message.peer != other)) continue;
        auto why = why_gone_(other);
        if (!why) continue;
        ranks.push_back({other, std::move(*why)});
    }
    if (message.peer != any_rank || static_cast<int>(ranks.size()) == size - 1) return ranks;
    std::erase_if(ranks, [this](const MissingRank& other) { return has_left_(other.rank); });
    return ranks;
}

/// Gives up if ranks that the message needs will not take part, or anybody has given up.
void OperationQueue::check_peer(const Call& call, std::chrono::duration<double> waited,
                                const std::function<bool()>& is_complete) {
    std::vector<MissingRank> away;
    if (why_gone_ && Backoff::Clock::now() >= next_look_) {
        next_look_ = Backoff::Clock::now() + looks_every;
        away = gone_for(call);
    }
    const bool is_late = deadline_.count() > 0 && waited > deadline_;
    if (away.empty() && !is_late && !others_gave_up()) return;
    // What others did before they gave up or ended may be all that is needed.
    if (is_complete()) return;
    if (away.empty()) away = gone_for(call);
    note_given_up();
    auto behind = side_channel_.missing(map, board, started_ + 1);
    if (away.empty()) {
        std::erase_if(behind, [&](const MissingRank& other) {
            return call.peer == any_rank ? other.rank == rank : other.rank != call.peer;
        });
        away = std::move(behind);
    }
    if (away.empty()) away = gone(board.alarm());
    name_in_job(away);
    const auto name = name_of(call.operation);
    throw reported(call.peer == any_rank ? timeout_of_any(name, started_, waited, std::move(away))
                                         : timeout(name, started_, waited, std::move(away), rank),
                   world_ranks_);
}

}  // namespace dtrain::comm
