// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <mpi.h>

#include <dtrain/communicator.hpp>
#include <dtrain/error.hpp>

#include "comm/message_bytes.hpp"
#include "comm/node_map.hpp"

namespace dtrain::comm {

struct Message {
    int from = 0;
    MessageBytes content;
};

/// What one message of MPI may have.
inline constexpr std::size_t max_message_bytes = std::numeric_limits<int>::max();

/// A message that has more bytes than may be sent.
class MessageTooLong : public Error {
  public:
    MessageTooLong(std::size_t bytes, std::size_t max);
    std::size_t bytes() const { return bytes_; }
    std::size_t max() const { return max_; }

  private:
    std::size_t bytes_;
    std::size_t max_;
};

/// Messages between ranks, of any length, that nobody has to expect: what a server and its clients exchange.
/// From one rank to another they arrive in the order in which they were sent. Nothing waits; what was sent
/// goes on whenever this Transport is called. For one thread.
class Transport {
  public:
    virtual ~Transport() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;

    /// True when there are more ranks than processors: who waits for a message lets others go on.
    virtual bool is_crowded() const = 0;

    /// Takes the content. @throws MpiError; MessageTooLong, and the content stays
    virtual void send(int to, MessageBytes&& content) = 0;

    /// A message that has arrived, from whomever. While calls find messages, the first of each rank is
    /// brought within 9 * size() of them, however many others have sent before it. @throws MpiError
    virtual std::optional<Message> receive() = 0;

    /// Lets what was sent go on; true when all of it has left. @throws MpiError
    virtual bool deliver() = 0;

    /// Waits until all of it has left, but no longer. @throws MpiError
    void deliver_within(std::chrono::milliseconds limit);

    /// Memory for a message of this many bytes: of those that were kept the smallest that is large enough,
    /// and of several the one that was used last, of which most is in the processor's cache.
    virtual MessageBytes memory(std::size_t bytes);

    /// Keeps the memory of a message that was read, for the next one.
    virtual void recycle(MessageBytes&& content);

  private:
    std::vector<MessageBytes> spare_;
    std::size_t spare_bytes_ = 0;
};

/// Between the ranks of a communicator, apart from its own messages. Collective. A message has
/// max_message_bytes at most.
std::unique_ptr<Transport> open_transport(const Communicator& world);

/// Messages from 4 KiB to 1 MiB are not copied on their way to a rank of the same node. Collective over both.
/// @param node the ranks of this one's node @param map of the ranks of `parent`
std::unique_ptr<Transport> mpi_transport(MPI_Comm parent, MPI_Comm node, const NodeMap& map);

/// Ranks that are all in this process, for one thread. @param max bytes of a message
std::vector<std::unique_ptr<Transport>> local_transports(int ranks, std::size_t max = max_message_bytes);

}  // namespace dtrain::comm
