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

#include "comm/message/message_bytes.hpp"
#include "comm/node/node_map.hpp"

namespace dtrain::comm {

struct Message {
    int from = 0;
    MessageBytes content;
};

/// Maximum bytes of one MPI message.
inline constexpr std::size_t max_message_bytes = std::numeric_limits<int>::max();

/// A message exceeds the maximum size.
class MessageTooLong : public Error {
  public:
    MessageTooLong(std::size_t bytes, std::size_t max);
    std::size_t bytes() const { return bytes_; }
    std::size_t max() const { return max_; }

  private:
    std::size_t bytes_;
    std::size_t max_;
};

/// Unsolicited messages between ranks, of any length: used between a server and its clients. Messages from
/// one rank to another arrive in the order in which they were sent. No call waits; sent messages progress
/// whenever this Transport is called. Use from one thread.
class Transport {
  public:
    virtual ~Transport() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;

    /// True if there are more ranks than processors: a waiting rank then yields.
    virtual bool is_crowded() const = 0;

    /// Takes the content. @throws MpiError; MessageTooLong, in which case the content is not taken
    virtual void send(int to, MessageBytes&& content) = 0;

    /// A message that has arrived from any rank. As long as calls return messages, the first one of each rank
    /// is returned within 9 * size() calls, however many others have been sent before it. @throws MpiError
    virtual std::optional<Message> receive() = 0;

    /// Progresses sent messages; true if all have been delivered. @throws MpiError
    virtual bool deliver() = 0;

    /// Waits until all have been delivered, up to the limit. @throws MpiError
    void deliver_within(std::chrono::milliseconds limit);

    /// A buffer for a message of this many bytes: the smallest kept one that is large enough; of several the
    /// most recently used one, which is most likely in the processor's cache.
    virtual MessageBytes memory(std::size_t bytes);

    /// Keeps the buffer of a processed message for reuse.
    virtual void recycle(MessageBytes&& content);

  private:
    std::vector<MessageBytes> spare_;
    std::size_t spare_bytes_ = 0;
};

/// A transport between the ranks of a communicator, separate from its own messages. Collective. Messages have
/// at most max_message_bytes.
std::unique_ptr<Transport> open_transport(const Communicator& world);

/// Messages from 4 KiB to 1 MiB are not copied on their way to a rank of the same node. Collective over both
/// communicators.
/// @param node the ranks of this one's node @param map of the ranks of `parent`
std::unique_ptr<Transport> mpi_transport(MPI_Comm parent, MPI_Comm node, const NodeMap& map);

/// Transports between ranks within this process, for one thread. @param max bytes of a message
std::vector<std::unique_ptr<Transport>> local_transports(int ranks, std::size_t max = max_message_bytes);

}  // namespace dtrain::comm
