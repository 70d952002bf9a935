// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "comm/message/transport.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// The client's, which lets the servers work before it looks.
class Pumped final : public comm::Transport {
  public:
    Pumped(comm::Transport& own, std::function<void()> pump) : own_(own), pump_(std::move(pump)) {}
    int rank() const override { return own_.rank(); }
    int size() const override { return own_.size(); }
    bool is_crowded() const override { return true; }
    void send(int to, comm::MessageBytes&& content) override {
        ++sent_;
        if (const auto header = MessageReader(std::as_const(content).bytes()).header();
            header.kind == MessageKind::push)
            steps_pushed_ += header.steps;
        own_.send(to, std::move(content));
    }
    std::optional<comm::Message> receive() override {
        pump_();
        return own_.receive();
    }
    bool deliver() override { return own_.deliver(); }

    /// Messages.
    int sent() const { return sent_; }
    /// That end with a push, of all pushes together.
    std::uint64_t steps_pushed() const { return steps_pushed_; }

  private:
    comm::Transport& own_;
    std::function<void()> pump_;
    int sent_ = 0;
    std::uint64_t steps_pushed_ = 0;
};

}  // namespace dtrain::ps
