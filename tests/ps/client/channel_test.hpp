// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ps/client/pumped_transport.hpp"
#include "ps/client/server_channel.hpp"

namespace dtrain::ps {

/// A trainer's channel to servers that the test plays: it reads what they get, and writes what they answer.
class ChannelTest : public testing::Test {
  protected:
    ServerChannel& start(ServerMode mode, int servers, std::optional<std::uint64_t> dict_size = {}) {
        transports_ = comm::local_transports(servers + 1);
        pumped_.emplace(*transports_.back(), [this] { play(); });
        clock_.emplace(mode, max_merged_, static_cast<std::size_t>(servers));
        std::vector<std::optional<TableLimit>> limits;
        if (dict_size) limits = {TableLimit{"t", *dict_size}};
        limits_.emplace(std::move(limits), static_cast<std::size_t>(servers));
        std::vector<int> ranks(static_cast<std::size_t>(servers));
        std::iota(ranks.begin(), ranks.end(), 0);
        channel_.emplace(ranks, deadline_, *pumped_, *clock_, *limits_);
        return *channel_;
    }

    /// Called whenever the trainer looks for messages.
    virtual void play() {}

    /// The next message that a server has got.
    std::optional<comm::Message> got(int server) {
        return transports_[static_cast<std::size_t>(server)]->receive();
    }
    std::optional<MessageHeader> header_got(int server) {
        const auto message = got(server);
        if (!message) return std::nullopt;
        return MessageReader(message->content.bytes()).header();
    }

    MessageWriter answer_of(int server, const MessageHeader& header) {
        return {*transports_[static_cast<std::size_t>(server)], header};
    }
    void send(MessageWriter&& answer) { answer.send(trainer()); }
    void answer(int server, const MessageHeader& header) { send(answer_of(server, header)); }
    void refuse(int server, std::uint64_t request, const std::string& why, bool is_full = false) {
        auto writer =
            answer_of(server, {.kind = MessageKind::failed, .steps = is_full ? 1U : 0U, .request = request});
        writer.add_text(why);
        send(std::move(writer));
    }
    void answer_rows(int server, std::uint64_t request, const std::vector<std::vector<float>>& sections) {
        auto writer = answer_of(server, {.kind = MessageKind::values, .request = request});
        for (const auto& values : sections)
            std::ranges::copy(values, writer.add_values(0, values.size(), 1).begin());
        send(std::move(writer));
    }

    int trainer() const { return static_cast<int>(transports_.size()) - 1; }

    int max_merged_ = 1;
    std::chrono::seconds deadline_{0};
    std::vector<std::unique_ptr<comm::Transport>> transports_;
    std::optional<Pumped> pumped_;
    std::optional<StepClock> clock_;
    std::optional<RowLimits> limits_;
    std::optional<ServerChannel> channel_;
};

}  // namespace dtrain::ps
