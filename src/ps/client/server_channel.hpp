// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm/message/transport.hpp"
#include "ps/client/request_table.hpp"
#include "ps/client/row_limits.hpp"
#include "ps/client/step_clock.hpp"
#include "ps/wire/message.hpp"
#include "ps/wire/wait_trace.hpp"

namespace dtrain::ps {

/// A trainer's messages to its servers, and their answers. If a server refuses a request, the next function
/// that waits throws ServerError; if a server does not answer in time, CommunicatorTimeout.
class ServerChannel {
  public:
    /// @param servers their ranks, by server number
    /// @param deadline for an answer; 0: no deadline
    /// @param clock is told of pushes that were applied; must outlive this, as must `limits` and `transport`
    ServerChannel(std::vector<int> servers, std::chrono::seconds deadline, comm::Transport& transport,
                  StepClock& clock, RowLimits& limits);

    /// Sets the function to call when a wait ends, and during it when a server has refused a batch for its
    /// size.
    void on_wait(std::function<void()> check_limits) { check_limits_ = std::move(check_limits); }

    int servers() const { return static_cast<int>(servers_.size()); }
    comm::Transport& transport() const { return *transport_; }

    std::uint64_t open(int server, MessageKind kind) { return requests_.open(server, kind); }
    void set_takers(std::uint64_t request, std::size_t takers) { requests_.set_takers(request, takers); }

    void send(int server, MessageWriter& message);
    /// Sends a message without content to each server; expects no answer.
    void notify_all(MessageKind kind);

    /// Sends a request to each server. @returns the requests, by server
    /// @param write adds the content for a server; empty: only the header is sent
    std::vector<std::uint64_t> send_all(MessageHeader header,
                                        const std::function<void(int, MessageWriter&)>& write = {});
    /// The same, and waits for the answers.
    /// @param read is called with the answer of each server, in server order; may be empty
    void ask_all(const MessageHeader& header, const std::function<void(int, MessageWriter&)>& write = {},
                 const std::function<void(int, const MessageReader&)>& read = {});

    /// Processes what has arrived. Never blocks.
    void progress();

    bool has_come(std::uint64_t request) const { return requests_.has_come(request); }
    bool have_come(std::span<const std::uint64_t> requests) const;

    /// @returns the answer; valid until the request is forgotten
    MessageReader wait_for(std::uint64_t request);
    /// @returns whether the server has begun the save; if not, it has answered already
    bool wait_until_begun(std::uint64_t save);
    /// @param kind of request, for an error
    void wait_until(const std::function<bool()>& condition, MessageKind kind, int server);

    /// Called once by each taker of an answer. If it has not arrived by the last call, it is dropped on
    /// arrival.
    void forget(std::uint64_t request);

    /// Waits until all messages are delivered, and forgets all requests.
    void close();

  private:
    bool take_message();
    void wait_for_messages(const std::function<bool()>& condition, MessageKind kind, int server);
    int server_of_rank(int rank) const;

    std::vector<int> servers_;
    std::chrono::seconds deadline_;
    comm::Transport* transport_;
    StepClock* clock_;
    RowLimits* limits_;
    std::function<void()> check_limits_ = [] {};
    RequestTable requests_;
    WaitTrace trace_;
};

}  // namespace dtrain::ps
