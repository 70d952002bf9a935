// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_queue.hpp"

#include <thread>
#include <utility>

#include <fmt/format.h>

#include <dtrain/nccl.hpp>

#include "comm/failure/leaving.hpp"
#include "comm/nccl/nccl_abort.hpp"
#include "comm/nccl/nccl_failure.hpp"
#include "comm/node/announced.hpp"

namespace dtrain::comm {

namespace {

OperationTrace trace_of(const FailureMonitor& ranks) {
    auto job_ranks = ranks.job_ranks();
    if (job_ranks.empty()) job_ranks = {ranks.rank()};
    return {ranks.rank(), job_ranks, "NCCL"};
}

}  // namespace

NcclQueue::NcclQueue(NcclPort& port, FailureMonitor& failure_monitor, std::chrono::milliseconds abort_within)
    : port_(port),
      failure_monitor_(failure_monitor),
      trace_(trace_of(failure_monitor)),
      abort_within_(abort_within) {}

void NcclQueue::join() {
    wait(add(NcclPhase::joining, {.operation = Operation::nccl_communicator}));
}

std::uint64_t NcclQueue::start(const Call& call) {
    return add(NcclPhase::issuing, call);
}

void NcclQueue::begin_capture() {
    drain();
    is_capturing_ = true;
}

void NcclQueue::end_capture() {
    is_capturing_ = false;
    if (const auto abort_now = std::exchange(abort_later_, nullptr)) abort_now();
    if (failure_) std::rethrow_exception(failure_);
}

void NcclQueue::capture(const Call& call) {
    wait(add(NcclPhase::capturing, call));
}

void NcclQueue::expect_all_well() {
    if (failure_) std::rethrow_exception(failure_);
    if (!failure_monitor_.others_gave_up()) return;
    waiting_.push_back(sums_of_a_run(started_ + 1));
    give_up({});
}

std::uint64_t NcclQueue::note_run() {
    note_agreed_failure(0);
    auto batch = sums_of_a_run(++started_);
    failure_monitor_.note_started(started_, batch.calls.front());
    batch.mark = port_.mark_computed();
    running_.push_back(std::move(batch));
    return started_;
}

NcclQueue::Batch NcclQueue::sums_of_a_run(std::uint64_t number) {
    Batch batch;
    batch.hand_over = NcclPhase::running;
    batch.first = number;
    batch.calls.push_back(traced({.operation = Operation::allreduce}));
    return batch;
}

Call NcclQueue::traced(const Call& call) {
    auto out = call;
    out.ticket = trace_.begin_call(call, is_message(call.operation) ? 0 : ++collectives_);
    return out;
}

bool NcclQueue::takes_messages(const Batch& batch) const {
    return is_message(batch.calls.front().operation) && messages_go_ < batch.first;
}

std::uint64_t NcclQueue::add(NcclPhase hand_over, const Call& call) {
    if (failure_) std::rethrow_exception(failure_);
    note_agreed_failure(0);
    const auto number = ++started_;
    failure_monitor_.note_started(number, call);
    if (is_message(call.operation) && !waiting_.empty() && takes_messages(waiting_.back())) {
        waiting_.back().calls.push_back(traced(call));
    } else {
        if (!is_message(call.operation)) let_messages_go();
        const auto recorded = hand_over == NcclPhase::leaving ? call : traced(call);
        waiting_.push_back({.hand_over = hand_over,
                            .first = number,
                            .calls = {recorded},
                            .collective = collectives_ + (is_message(call.operation) ? 1 : 0)});
    }
    if (failure_monitor_.others_gave_up()) give_up({});
    go_on({});
    return number;
}

bool NcclQueue::test(std::uint64_t number) {
    if (completed_ < number) {
        if (failure_) std::rethrow_exception(failure_);
        let_messages_go();
        go_on({});
        if (completed_ < number) go_on({.others_gave_up = failure_monitor_.others_gave_up()});
    }
    if (completed_ < number) return false;
    wait(number);
    return true;
}

void NcclQueue::wait(std::uint64_t number) {
    wait_until(number, Backoff::Clock::time_point::max());
}

bool NcclQueue::wait_until(std::uint64_t number, Backoff::Clock::time_point end) {
    if (completed_ < number) {
        if (failure_) std::rethrow_exception(failure_);
        let_messages_go();
        // Polling a GPU is slow: poll a few times, then yield the processor.
        Backoff backoff(true);
        auto before = std::exchange(waited_, {});  // by calls whose time was over
        while (completed_ < number) {
            if (go_on({})) {
                backoff.renew();
                before = {};
                continue;
            }
            if (backoff.pass_moment()) continue;
            const auto waited = before + backoff.waited();
            failure_monitor_.note_waits(front()->first, front()->calls.front().operation);
            note_waits(*front());
            note_gpu(*front(), waited);
            failure_monitor_.let_mpi_work();
            if (const auto pause = nccl_sleep(waited); pause.count() > 0)
                std::this_thread::sleep_for(pause);
            else
                std::this_thread::yield();
            go_on({.others_gave_up = failure_monitor_.others_gave_up(),
                   .waited = waited,
                   .deadline = deadline_.value_or(failure_monitor_.deadline())});
            if (completed_ < number && Backoff::Clock::now() >= end) {
                waited_ = before + backoff.waited();
                failure_monitor_.note_goes_on();
                note_goes_on(*front());
                return false;
            }
        }
        failure_monitor_.note_goes_on();
    }
    if (const auto refused = refused_.extract(number)) std::rethrow_exception(refused.mapped());
    return true;
}

void NcclQueue::drain() {
    if (!is_idle()) wait(started_);
}

void NcclQueue::leave() {
    wait(add(NcclPhase::leaving, {.operation = Operation::nccl_communicator}));
}

bool NcclQueue::go_on(const NcclPoll& polled) {
    const bool one = go_on_running(polled);
    const bool other = go_on_issuing(polled);
    return one || other;
}

bool NcclQueue::go_on_running(NcclPoll polled) {
    bool any = false;
    for (; !running_.empty(); any = true) {
        auto& batch = running_.front();
        if (batch.mark) {
            // While a call is being issued the communicator is "in progress", which says nothing about this
            // batch.
            const auto nccl = issuing_ ? NcclAnswer{} : port_.status();
            const auto gpu = port_.reached(*batch.mark);
            polled.nccl = nccl.state;
            polled.gpu = gpu.state;
            const auto next = next_of(NcclPhase::running, polled);
            if (next == NcclNext::fail) fail(nccl.state == NcclState::done ? gpu : nccl);
            if (next == NcclNext::give_up) give_up(polled.waited);
            if (next == NcclNext::wait) break;
        }
        complete(batch);
        running_.pop_front();
    }
    return any;
}

bool NcclQueue::go_on_issuing(NcclPoll polled) {
    bool any = false;
    for (;; any = true) {
        if (!issuing_) {
            if (issue_next()) continue;
            break;
        }
        auto& batch = *issuing_;
        if (batch.answer.state == NcclState::in_progress) batch.answer = port_.status();
        polled.nccl = batch.answer.state;
        const auto next = next_of(batch.hand_over, polled);
        if (next == NcclNext::wait) break;
        if (next == NcclNext::fail) fail(batch.answer);
        if (next == NcclNext::give_up) give_up(polled.waited);
        if (next == NcclNext::refuse)
            for (std::size_t i = 0; i < batch.calls.size(); ++i) refuse(batch.first + i, batch.answer.reason);
        else if (batch.hand_over == NcclPhase::issuing)
            batch.mark = port_.mark();
        running_.push_back(std::move(batch));
        issuing_.reset();
    }
    return any;
}

bool NcclQueue::issue_next() {
    if (waiting_.empty() || takes_messages(waiting_.front())) return false;
    issuing_ = std::move(waiting_.front());
    waiting_.pop_front();
    refuse_lonely_messages(*issuing_);
    hand_over(*issuing_);
    return true;
}

void NcclQueue::hand_over(Batch& batch) {
    if (batch.hand_over == NcclPhase::joining)
        batch.answer = port_.join();
    else if (batch.hand_over == NcclPhase::leaving)
        batch.answer = port_.leave();
    else if (batch.hand_over == NcclPhase::capturing)
        batch.answer = port_.fork(batch.calls.front());
    else {
        std::vector<Call> calls;
        for (std::size_t i = 0; i < batch.calls.size(); ++i)
            if (!refused_.contains(batch.first + i)) calls.push_back(batch.calls[i]);
        if (calls.empty()) return;
        batch.answer = port_.issue(calls);
        batch.before = port_.mark_before();
    }
}

void NcclQueue::refuse(std::uint64_t number, const std::string& why) {
    refused_[number] = std::make_exception_ptr(NcclError(why));
}

void NcclQueue::refuse_lonely_messages(Batch& batch) {
    std::deque<std::uint64_t> sent;
    std::deque<std::uint64_t> received;
    for (std::size_t i = 0; i < batch.calls.size(); ++i) {
        const auto& call = batch.calls[i];
        if (!is_message(call.operation) || call.peer != failure_monitor_.rank()) continue;
        (call.operation == Operation::send ? sent : received).push_back(batch.first + i);
    }
    const auto both = std::min(sent.size(), received.size());
    for (auto* numbers : {&sent, &received})
        for (std::size_t i = both; i < numbers->size(); ++i)
            refuse((*numbers)[i],
                   "a message of a rank to itself: NCCL needs both sides started before one of "
                   "them is waited for");
}

void NcclQueue::complete(const Batch& batch) {
    completed_ = batch.first + batch.calls.size() - 1;
    failure_monitor_.note_finished(completed_);
    for (const auto& call : batch.calls) trace_.end(call);
    gpu_.reset();
    if (batch.before) port_.release(*batch.before);
}

/// Whoever else waits for the operation waits for what this rank's GPU computes before it.
void NcclQueue::note_gpu(Batch& batch, std::chrono::duration<double> waited) {
    constexpr std::chrono::milliseconds long_enough{100};  // asking the GPU is slow
    if (!batch.before || waited < long_enough) return;
    if (port_.reached(*batch.before).state != NcclState::in_progress) {
        batch.before.reset();
        gpu_.reset();
    } else if (!gpu_) {
        gpu_.emplace(trace_.wait_for_gpu(batch.collective));
    }
}

void NcclQueue::note_waits(const Batch& batch) {
    if (std::exchange(waits_for_, batch.first) == batch.first) return;
    for (const auto& call : batch.calls) trace_.waits(call);
    if (gpu_) gpu_->waits();
}

void NcclQueue::note_goes_on(const Batch& batch) {
    waits_for_ = 0;
    for (const auto& call : batch.calls) trace_.goes_on(call);
    if (gpu_) gpu_->goes_on();
}

NcclQueue::Batch* NcclQueue::front() {
    if (!running_.empty()) return &running_.front();
    if (issuing_) return &*issuing_;
    return waiting_.empty() ? nullptr : &waiting_.front();
}

void NcclQueue::fail(const NcclAnswer& answer) {
    failure_monitor_.note_failure(answer.code == 0 ? nccl_internal_error : answer.code);
    give_up({}, answer.reason.empty() ? std::string(nccl_text(answer.code)) : answer.reason);
}

void NcclQueue::give_up(std::chrono::duration<double> waited, const std::string& own_reason) {
    note_broken();
    gpu_.reset();
    const auto* batch = front();
    const auto absence = failure_monitor_.give_up(batch->first);
    const NcclWait wait{.operation = name_of(batch->calls.front().operation),
                        .number = batch->first,
                        .waited = waited,
                        .rank = failure_monitor_.rank()};
    if (is_capturing_) {
        failure_ = nccl_failure(wait, absence, own_reason, "");
        abort_later_ = [=, this] { failure_ = nccl_failure(wait, absence, own_reason, abort()); };
    } else {
        failure_ = nccl_failure(wait, absence, own_reason, abort());
    }
    report_nccl_failure(failure_, failure_monitor_.job_ranks());
    std::rethrow_exception(failure_);
}

std::string NcclQueue::abort() {
    const auto let_mpi_work = [this] {
        try {
            failure_monitor_.let_mpi_work();
        } catch (const MpiError&) {
            // The error to report is the reason for the abort.
        }
    };
    const auto meanwhile = [&] {
        destroy_graphs();
        let_mpi_work();
    };
    const bool ended = ends_within(abort_within_, port_.aborter(), meanwhile);
    destroy_graphs();
    if (ended) return "";
    return fmt::format("; ncclCommAbort did not return within {:.1f} s",
                       std::chrono::duration<double>(abort_within_).count());
}

// After an abort NCCL's kernels end by themselves, and then so do the runs of graphs.
void NcclQueue::destroy_graphs() {
    for (; !running_.empty(); running_.pop_front()) {
        const auto& mark = running_.front().mark;
        if (mark && port_.reached(*mark).state == NcclState::in_progress) return;
    }
    for (const auto& destroy : std::exchange(destroys_, {})) destroy();
}

}  // namespace dtrain::comm
