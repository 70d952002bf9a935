// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/api/call.hpp"
#include "comm/failure/failure_monitor.hpp"
#include "comm/mpi/operation_trace.hpp"
#include "comm/nccl/nccl_port.hpp"
#include "comm/node/backoff.hpp"

namespace dtrain::comm {

/// The operations of one NCCL communicator, in the order in which they were started. One at a time is issued
/// to NCCL, which may take some time; many may be pending on the GPU. Messages are held back until something
/// else is started, or until somebody tests or waits, and are then issued as one group: NCCL does not let
/// messages overtake each other.
///
/// A failure on this rank, the deadline, or a notification of another rank ends everything: the others are
/// notified, NCCL is aborted in a thread that has its own deadline, and from then on every call throws the
/// same exception.
class NcclQueue {
  public:
    NcclQueue(NcclPort& port, FailureMonitor& failure_monitor, std::chrono::milliseconds abort_within);
    NcclQueue(const NcclQueue&) = delete;
    NcclQueue& operator=(const NcclQueue&) = delete;

    /// Creates the communicator. @throws NcclError, CommunicatorTimeout, as all following functions
    void join();

    std::uint64_t start(const Call& call);
    bool test(std::uint64_t number);
    void wait(std::uint64_t number);
    /// False if `end` came first.
    bool wait_until(std::uint64_t number, Backoff::Clock::time_point end);

    /// Waits for all operations; afterwards the computing stream may be captured.
    void begin_capture();
    /// Call it after the capture, once a failed capture is destroyed: NCCL's abort waits for that, so after a
    /// failure during the capture it starts here. @throws the failure that ended everything
    void end_capture();
    /// Issues an operation into the captured graph of the computing stream and waits until it is part of it.
    /// No other operation may be pending.
    void capture(const Call& call);
    /// @throws the failure that ended everything, on this or another rank
    void expect_all_well();
    /// Treats everything enqueued in the computing stream so far as a pending operation; returns its number.
    /// No operations but such runs may be pending.
    std::uint64_t note_run();
    /// Sets a function that may only be called after a failure, and must be for NCCL's abort to return.
    void on_failure(std::function<void()> destroy) { destroys_.push_back(std::move(destroy)); }

    /// Waits for all operations.
    void drain();
    /// Ends the communicator; record_free() says so.
    void leave();
    /// The end of the communicator and of what it consists of, in the operation log.
    trace::ScopedOperation record_free() { return trace_.free(++collectives_); }

    /// Its name in reports, in place of its ranks.
    void set_name(std::string_view name) { trace_.name_group(name); }

    /// From now on. 0 s means none.
    void set_deadline(std::chrono::duration<double> deadline) { deadline_ = deadline; }

    bool is_idle() const { return completed_ == started_; }

  private:
    /// What is issued to NCCL together: a collective operation, or messages.
    struct Batch {
        NcclPhase hand_over = NcclPhase::issuing;
        std::uint64_t first = 0;
        std::vector<Call> calls;  // one per number
        NcclAnswer answer;
        std::optional<std::size_t> mark;
        std::optional<std::size_t> before;  ///< of the computing stream; none: it was reached, or is unknown
        std::uint64_t collective = 0;       ///< its number, of messages that of the next one
    };

    std::uint64_t add(NcclPhase hand_over, const Call& call);
    Batch sums_of_a_run(std::uint64_t number);
    Call traced(const Call& call);
    bool takes_messages(const Batch& batch) const;
    void let_messages_go() { messages_go_ = started_; }

    /// Checks whether anything can progress; true if something did.
    bool go_on(const NcclPoll& polled);
    bool go_on_running(NcclPoll polled);
    bool go_on_issuing(NcclPoll polled);
    bool issue_next();
    void hand_over(Batch& batch);
    void refuse(std::uint64_t number, const std::string& why);
    void refuse_lonely_messages(Batch& batch);
    void complete(const Batch& batch);
    void note_waits(const Batch& batch);
    void note_gpu(Batch& batch, std::chrono::duration<double> waited);
    void note_goes_on(const Batch& batch);

    Batch* front();
    [[noreturn]] void fail(const NcclAnswer& answer);
    [[noreturn]] void give_up(std::chrono::duration<double> waited, const std::string& own_reason = "");
    std::string abort();
    void destroy_graphs();

    NcclPort& port_;
    FailureMonitor& failure_monitor_;
    OperationTrace trace_;
    std::uint64_t collectives_ = 0;  ///< messages are started in another order on each rank
    std::chrono::milliseconds abort_within_;
    std::optional<std::chrono::duration<double>> deadline_;  ///< none: that of failure_monitor_
    std::chrono::duration<double> waited_{};     ///< for the operation at the front, by calls with a limit
    std::uint64_t waits_for_ = 0;                ///< first of the batch that was last waited for
    std::optional<trace::ScopedOperation> gpu_;  ///< while the GPU has not come to the operation at the front
    std::uint64_t started_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t messages_go_ = 0;
    std::deque<Batch> waiting_;
    std::optional<Batch> issuing_;
    std::deque<Batch> running_;
    std::map<std::uint64_t, std::exception_ptr> refused_;
    std::exception_ptr failure_;
    bool is_capturing_ = false;
    std::function<void()> abort_later_;  ///< after a failure during a capture
    std::vector<std::function<void()>> destroys_;
};

}  // namespace dtrain::comm
