// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "comm/api/call.hpp"
#include "comm/message/frame_ring.hpp"
#include "comm/node/other_memory.hpp"

namespace dtrain::comm {

/// Messages with tags between the ranks of a node, in memory that all of them map: each rank's part has a
/// ring for each rank that writes to it. Messages between two ranks with one tag arrive in order.
///
/// A short message goes into the ring and is sent then; the receiver keeps it until it is wanted. Of a long
/// one only an offer does: once it is wanted, the receiver reads it from the sender's memory (OtherMemory),
/// or asks for pieces in the ring where the system forbids that. No call waits; operations progress in
/// progress(). Use from one thread.
class Mailbox {
  public:
    using Handle = std::uint64_t;

    static std::size_t bytes_of_a_rank(int ranks);
    /// @param parts by rank: bytes_of_a_rank(), zero at first, at a multiple of 64; they and `other_memory`
    /// outlive this object
    Mailbox(int rank, std::span<std::byte* const> parts, const OtherMemory& other_memory);

    /// The message must stay until the operation is complete.
    Handle send(int to, int tag, std::span<const std::byte> message);
    /// @param from a rank or any_rank
    Handle receive(int from, int tag, std::span<std::byte> message);

    /// Lets operations go on; true if one did.
    bool progress();
    bool is_complete(Handle operation) const;
    /// The other rank of a complete operation.
    int peer_of(Handle operation) const;
    /// Forgets an operation, which is complete. @throws Error if the message has another length than the
    /// buffer; MemoryGone
    void finish(Handle operation);

    /// A message that no receive() has asked for.
    struct Arrival {
        int from = 0;
        int tag = 0;
        std::size_t bytes = 0;
    };
    /// The first one of a rank, or of any_rank.
    std::optional<Arrival> first_arrival(int from) const;

  private:
    enum class Kind : std::uint32_t {
        whole,  ///< a short message
        offer,  ///< of a long message: its address, and the sender's operation
        wants,  ///< the receiver wants pieces of an offer: its own operation in `address`
        piece,  ///< of a message, for the receiver's operation
        taken,  ///< the receiver has read what was offered
    };
    struct Operation {
        std::span<const std::byte> source;
        std::span<std::byte> destination;
        int peer = 0;
        int tag = 0;
        std::size_t done = 0;  ///< bytes, of a message in pieces
        bool is_complete = false;
        std::exception_ptr failure;
    };
    struct Outgoing {
        FrameRing::Head head;
        std::span<const std::byte> content;
        Handle completes = 0;  ///< the operation that is complete once it is written; 0: none
    };
    /// Towards another rank, and from it.
    struct Peer {
        FrameRing out;
        FrameRing in;
        std::deque<Outgoing> outgoing;
        struct Pieces {
            Handle source;
            std::uint64_t destination;
        };
        std::deque<Pieces> pieces;
    };
    struct Arrived {
        std::uint64_t order = 0;  ///< among all ranks'
        FrameRing::Head head;
        std::vector<std::byte> content;
    };

    Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
    void post(int to, Kind kind, FrameRing::Head head, std::span<const std::byte> content = {},
              Handle completes = 0);
    bool push(int to);
    bool push_piece(int to);
    bool pull(int from);
    void handle(int from, const FrameRing::Head& head);
    std::optional<Handle> wanted_by(int from, int tag) const;
    void take_whole(int from, const FrameRing::Head& head);
    void take_piece(int from, const FrameRing::Head& head);
    void take_offer(Handle operation, int from, const FrameRing::Head& offer);
    bool refuse_other_length(Operation& operation, int from, std::size_t bytes) const;

    int rank_;
    std::size_t max_short_;
    const OtherMemory& other_memory_;
    std::vector<std::byte*> bells_;  // by rank
    std::uint64_t heard_ = 0;
    std::size_t unsent_ = 0;  // frames and messages in pieces that wait for room
    std::vector<Peer> peers_;
    std::vector<std::deque<Arrived>> arrived_;  // by rank
    std::uint64_t arrivals_ = 0;
    std::deque<Handle> wanting_;  // receives without a message, in their order
    std::map<Handle, Operation> operations_;
    Handle started_ = 0;
};

}  // namespace dtrain::comm
