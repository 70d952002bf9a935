// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/message/node_transport.hpp"

#include <deque>
#include <utility>
#include <vector>

#include "comm/message/mailbox.hpp"
#include "comm/message/transport_in_turn.hpp"
#include "comm/node/node_map.hpp"
#include "comm/node/other_memory.hpp"

namespace dtrain::comm {
namespace {

constexpr int only_tag = 0;

class NodeTransport final : public TransportInTurn {
  public:
    explicit NodeTransport(std::unique_ptr<NodeRendezvous> ranks)
        : ranks_(std::move(ranks)),
          other_memory_(*ranks_),
          is_crowded_(comm::is_crowded(*ranks_)),
          mailbox_(ranks_->rank(), ranks_->parts(), other_memory_),
          arriving_(static_cast<std::size_t>(ranks_->size())) {}

    int rank() const override { return ranks_->rank(); }
    int size() const override { return ranks_->size(); }
    bool is_crowded() const override { return is_crowded_; }

    void send(int to, MessageBytes&& content) override {
        check_length(content, max_message_bytes);
        auto& [message, operation] = sent_.emplace_back(UnderWay{std::move(content), 0});
        operation = mailbox_.send(to, only_tag, message.bytes());
    }

    bool deliver() override {
        mailbox_.progress();
        for (std::size_t i = 0; i < sent_.size();) {
            if (!mailbox_.is_complete(sent_[i].operation)) {
                ++i;
                continue;
            }
            mailbox_.finish(sent_[i].operation);
            recycle(std::move(sent_[i].content));
            std::swap(sent_[i], sent_.back());
            sent_.pop_back();
        }
        return sent_.empty();
    }

  private:
    struct UnderWay {
        MessageBytes content;
        Mailbox::Handle operation = 0;
    };

    std::optional<Message> receive_from(std::optional<int> sender) override {
        while (const auto arrival = mailbox_.first_arrival(sender.value_or(any_rank))) {
            auto& [message, operation] = arriving_[static_cast<std::size_t>(arrival->from)].emplace_back(
                UnderWay{memory(arrival->bytes), 0});
            operation = mailbox_.receive(arrival->from, only_tag, message.bytes());
        }
        for (int i = 0; i < size(); ++i) {
            const int from = sender ? *sender : (next_ + i) % size();
            auto& messages = arriving_[static_cast<std::size_t>(from)];
            if (!messages.empty() && mailbox_.is_complete(messages.front().operation)) {
                auto [message, operation] = std::move(messages.front());
                messages.pop_front();
                mailbox_.finish(operation);
                next_ = (from + 1) % size();
                return Message{from, std::move(message)};
            }
            if (sender) break;
        }
        return std::nullopt;
    }

    std::unique_ptr<NodeRendezvous> ranks_;
    OtherMemory other_memory_;
    bool is_crowded_;
    Mailbox mailbox_;
    std::vector<UnderWay> sent_;
    std::vector<std::deque<UnderWay>> arriving_;  // by rank
    int next_ = 0;
};

}  // namespace

std::unique_ptr<Transport> node_transport(std::unique_ptr<NodeRendezvous> ranks) {
    return std::make_unique<NodeTransport>(std::move(ranks));
}

}  // namespace dtrain::comm
