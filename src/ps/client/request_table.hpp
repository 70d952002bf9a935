// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "comm/message/message_bytes.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// A trainer's requests whose answers are still to arrive or to be read.
class RequestTable {
  public:
    struct Request {
        int server = 0;
        MessageKind kind = MessageKind::join;
        std::optional<comm::MessageBytes> answer = {};
        bool is_begun = false;   ///< of a save: the server has fixed what it saves
        std::size_t takers = 1;  ///< number of callers that must still forget() it
    };

    /// @returns the number of a new request
    std::uint64_t open(int server, MessageKind kind);

    bool is_open(std::uint64_t request, MessageKind kind) const;
    /// The reference is valid until the request is forgotten.
    const Request& at(std::uint64_t request) const { return requests_.at(request); }
    void set_takers(std::uint64_t request, std::size_t takers) { requests_.at(request).takers = takers; }

    /// @throws MessageError unless the message answers an open request that has no answer yet
    void check(int server, const MessageHeader& answer) const;

    /// Keeps an answer, after check(). @returns its memory if nobody is going to read it
    std::optional<comm::MessageBytes> record(const MessageHeader& header, comm::MessageBytes&& answer);

    /// Whether the answer has arrived; true if the request is not open any more.
    bool has_come(std::uint64_t request) const;

    /// Called once by each taker. If the answer has not arrived by the last call, it is dropped on arrival.
    /// @returns the memory of an answer that nobody needs any more
    std::optional<comm::MessageBytes> forget(std::uint64_t request);

    void forget_all() { requests_.clear(); }

  private:
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, Request> requests_;
};

}  // namespace dtrain::ps
