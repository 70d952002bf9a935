// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/message/transport.hpp"

#include <algorithm>
#include <cstring>
#include <sched.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "comm/api/backend.hpp"
#include "comm/message/shared_messages.hpp"
#include "comm/message/transport_in_turn.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/mpi/own_comm.hpp"
#include "comm/node/peers.hpp"

namespace dtrain::comm {
namespace {

// Number of pending messages when a batch of rows is split into many.
constexpr std::size_t max_spare = 64;
// Large buffers are kept up to this total size, but always at least min_spare.
constexpr std::size_t max_spare_bytes = std::size_t{16} << 20U;
constexpr std::size_t min_spare = 8;
constexpr std::size_t short_message = 512;
// Polling without result may cost a rank of a crowded machine its processor.
constexpr int messages_between_turns = 8;
constexpr int message_tag = 0;
constexpr int location_tag = 1;  // location of a message in shared memory of the node

class MpiTransport final : public TransportInTurn {
  public:
    MpiTransport(MPI_Comm parent, MPI_Comm node, const NodeMap& map)
        : communicator_(copy_of(parent)),
          is_crowded_(comm::is_crowded(MpiPeers(node))),
          shared_(SharedMessages::open(node, map)) {
        check(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    bool is_crowded() const override { return is_crowded_; }

    void send(int to, MessageBytes&& content) override {
        check_length(content, max_message_bytes);
        const auto location = shared_ == nullptr ? std::nullopt : shared_->location_for(to, content);
        if (!location) return send_bytes(to, message_tag, std::move(content));
        auto message = Transport::memory(sizeof(*location));
        std::memcpy(message.data(), &*location, sizeof(*location));
        std::move(content).leave_to_reader();
        send_bytes(to, location_tag, std::move(message));
    }

    MessageBytes memory(std::size_t bytes) override {
        if (shared_ != nullptr)
            if (auto lent = shared_->memory(bytes)) return std::move(*lent);
        return Transport::memory(bytes);
    }

    bool deliver() override {
        for (std::size_t i = 0; i < requests_.size();) {
            int complete = 0;
            check(MPI_Test(&requests_[i], &complete, MPI_STATUS_IGNORE), "MPI_Test");
            if (complete == 0) {
                ++i;
                continue;
            }
            recycle(std::move(sent_[i]));
            std::swap(sent_[i], sent_.back());
            std::swap(requests_[i], requests_.back());
            sent_.pop_back();
            requests_.pop_back();
        }
        return requests_.empty();
    }

  private:
    std::optional<Message> receive_from(std::optional<int> sender) override {
        int arrived = 0;
        MPI_Message matched = MPI_MESSAGE_NULL;
        MPI_Status status;
        // With any tag, so that messages are received in order.
        check(MPI_Improbe(sender.value_or(MPI_ANY_SOURCE), MPI_ANY_TAG, communicator_, &arrived, &matched,
                          &status),
              "MPI_Improbe");
        if (arrived == 0) return std::nullopt;
        if (status.MPI_TAG == location_tag) {
            SharedMessages::Location location;
            check(MPI_Mrecv(&location, sizeof(location), MPI_BYTE, &matched, MPI_STATUS_IGNORE), "MPI_Mrecv");
            return Message{status.MPI_SOURCE, shared_->message(status.MPI_SOURCE, location)};
        }
        int bytes = 0;
        check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
        Message message{status.MPI_SOURCE, Transport::memory(static_cast<std::size_t>(bytes))};
        check(MPI_Mrecv(message.content.data(), bytes, MPI_BYTE, &matched, MPI_STATUS_IGNORE), "MPI_Mrecv");
        return message;
    }

    void send_bytes(int to, int tag, MessageBytes&& content) {
        auto& sent = sent_.emplace_back(std::move(content));
        requests_.push_back(MPI_REQUEST_NULL);
        check(MPI_Isend(sent.data(), static_cast<int>(sent.size()), MPI_BYTE, to, tag, communicator_,
                        &requests_.back()),
              "MPI_Isend");
    }

    OwnComm communicator_;
    int rank_ = 0;
    int size_ = 1;
    bool is_crowded_;
    std::unique_ptr<SharedMessages> shared_;  // null: MPI carries all messages
    std::vector<MPI_Request> requests_;
    std::vector<MessageBytes> sent_;
};

using Boxes = std::vector<std::deque<Message>>;

class LocalTransport final : public TransportInTurn {
  public:
    LocalTransport(int rank, std::shared_ptr<Boxes> boxes, std::size_t max)
        : rank_(rank), boxes_(std::move(boxes)), max_(max) {}

    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(boxes_->size()); }
    bool is_crowded() const override { return true; }
    void send(int to, MessageBytes&& content) override {
        check_length(content, max_);
        boxes_->at(static_cast<std::size_t>(to)).push_back({rank_, std::move(content)});
    }
    bool deliver() override { return true; }

  private:
    std::optional<Message> receive_from(std::optional<int> sender) override {
        auto& box = (*boxes_)[static_cast<std::size_t>(rank_)];
        const auto found = std::ranges::find_if(
            box, [&](const Message& message) { return !sender || message.from == *sender; });
        if (found == box.end()) return std::nullopt;
        auto message = std::move(*found);
        box.erase(found);
        return message;
    }

    int rank_;
    std::shared_ptr<Boxes> boxes_;
    std::size_t max_;
};

}  // namespace

std::optional<Message> TransportInTurn::receive() {
    deliver();
    auto message = next_in_turn();
    if (!message) message = receive_from(std::nullopt);
    messages_ = message ? messages_ + 1 : 0;
    return message;
}

std::optional<Message> TransportInTurn::next_in_turn() {
    if (messages_ < messages_between_turns || size() <= 2) return std::nullopt;
    messages_ = 0;
    turn_ = (turn_ + 1) % size();
    return receive_from(turn_);
}

void check_length(const MessageBytes& content, std::size_t max) {
    if (content.size() > max) throw MessageTooLong(content.size(), max);
}

MessageTooLong::MessageTooLong(std::size_t bytes, std::size_t max)
    : Error(fmt::format("a message of {} bytes; it may have {} at most", bytes, max)),
      bytes_(bytes),
      max_(max) {}

void Transport::deliver_within(std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!deliver() && std::chrono::steady_clock::now() < end) ::sched_yield();
}

MessageBytes Transport::memory(std::size_t bytes) {
    // Short messages do not take large buffers.
    const auto max = std::max(bytes, short_message) * 8;
    auto fits = spare_.end();
    for (auto spare = spare_.begin(); spare != spare_.end(); ++spare)
        if (spare->capacity() >= bytes && spare->capacity() <= max &&
            (fits == spare_.end() || spare->capacity() <= fits->capacity()))
            fits = spare;
    MessageBytes content;
    if (fits != spare_.end()) {
        spare_bytes_ -= fits->capacity();
        content = std::move(*fits);
        spare_.erase(fits);
    }
    content.resize(bytes);
    return content;
}

void Transport::recycle(MessageBytes&& content) {
    if (content.is_lent()) {
        const auto given_back = std::move(content);
        return;
    }
    spare_bytes_ += content.capacity();
    spare_.push_back(std::move(content));
    while (spare_.size() > max_spare || (spare_bytes_ > max_spare_bytes && spare_.size() > min_spare)) {
        spare_bytes_ -= spare_.front().capacity();
        spare_.erase(spare_.begin());
    }
}

std::unique_ptr<Transport> open_transport(const Communicator& world) {
    return backend_of(world)->open_transport();
}

std::unique_ptr<Transport> mpi_transport(MPI_Comm parent, MPI_Comm node, const NodeMap& map) {
    return std::make_unique<MpiTransport>(parent, node, map);
}

std::vector<std::unique_ptr<Transport>> local_transports(int ranks, std::size_t max) {
    const auto boxes = std::make_shared<Boxes>(static_cast<std::size_t>(ranks));
    std::vector<std::unique_ptr<Transport>> transports;
    for (int rank = 0; rank < ranks; ++rank)
        transports.push_back(std::make_unique<LocalTransport>(rank, boxes, max));
    return transports;
}

}  // namespace dtrain::comm
