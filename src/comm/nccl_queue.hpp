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
#include <utility>
#include <vector>

#include <dtrain/comm_call.hpp>

#include "comm/failure_monitor.hpp"
#include "comm/nccl_port.hpp"

namespace dtrain::comm {

/// The operations of one NCCL communicator, in the order in which they were started. One at a time is handed
/// over to NCCL, which may take its time for it; many may wait for the GPU. Messages are kept until something
/// else is started, or until somebody tests or waits, and then go as one group: NCCL's do not pass each
/// other.
///
/// A failure on this rank, the deadline, or another rank's word end everything: the others are told, NCCL is
/// aborted in a thread that has a deadline of its own, and from then on every call throws the same.
class NcclQueue {
  public:
    NcclQueue(NcclPort& port, FailureMonitor& failure_monitor, std::chrono::milliseconds abort_within);
    NcclQueue(const NcclQueue&) = delete;
    NcclQueue& operator=(const NcclQueue&) = delete;

    /// Makes the communicator. @throws NcclError, CommunicatorTimeout, like all that follows
    void join();

    std::uint64_t start(const Call& call);
    bool test(std::uint64_t number);
    void wait(std::uint64_t number);

    /// Waits for all operations; the stream that computes may be captured then.
    void begin_capture();
    /// After that, when what was captured in vain is destroyed: NCCL's abort waits for it, and so begins here
    /// when something failed meanwhile. @throws what has ended everything
    void end_capture();
    /// Hands one over to the graph of the stream that computes, and waits until it is there. Nothing else
    /// is under way.
    void capture(const Call& call);
    /// @throws what has ended everything, here or on another rank
    void expect_all_well();
    /// What the stream that computes was given up to now is an operation that goes on, whose number this is.
    /// Nothing else is under way but those.
    std::uint64_t note_run();
    /// What may be done only after a failure, and has to be for NCCL's abort to return.
    void on_failure(std::function<void()> destroy) { destroys_.push_back(std::move(destroy)); }

    /// Waits for all operations.
    void drain();
    /// Ends the communicator.
    void leave();

    bool is_idle() const { return completed_ == started_; }

  private:
    /// What goes to NCCL as one: a collective operation, or messages.
    struct Batch {
        NcclPhase hand_over = NcclPhase::issuing;
        std::uint64_t first = 0;
        std::vector<Call> calls;  // one per number
        NcclAnswer answer;
        std::optional<std::size_t> mark;
    };

    std::uint64_t add(NcclPhase hand_over, const Call& call);
    static Batch sums_of_a_run(std::uint64_t number);
    bool takes_messages(const Batch& batch) const;
    void let_messages_go() { messages_go_ = started_; }

    /// Looks whether anything can go on; true when something did.
    bool go_on(const NcclPoll& polled);
    bool go_on_running(NcclPoll polled);
    bool go_on_issuing(NcclPoll polled);
    bool issue_next();
    void hand_over(Batch& batch);
    void refuse(std::uint64_t number, const std::string& why);
    void refuse_lonely_messages(Batch& batch);
    void complete(const Batch& batch);

    const Batch* front() const;
    [[noreturn]] void fail(const NcclAnswer& answer);
    [[noreturn]] void give_up(std::chrono::duration<double> waited, const std::string& own_reason = "");
    std::string abort();
    void destroy_graphs();

    NcclPort& port_;
    FailureMonitor& failure_monitor_;
    std::chrono::milliseconds abort_within_;
    std::uint64_t started_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t messages_go_ = 0;
    std::deque<Batch> waiting_;
    std::optional<Batch> issuing_;
    std::deque<Batch> running_;
    std::map<std::uint64_t, std::exception_ptr> refused_;
    std::exception_ptr failure_;
    bool is_capturing_ = false;
    std::function<void()> abort_later_;  ///< after a failure while something is captured
    std::vector<std::function<void()>> destroys_;
};

}  // namespace dtrain::comm
