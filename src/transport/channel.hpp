// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "transport/frames.hpp"
#include "transport/handshake.hpp"
#include "transport/key.hpp"

namespace dtrain::transport {

/// One end of an encrypted connection: converts received bytes to messages, and the reverse. Independent of
/// sockets. Until the other side has proven the key, it yields no messages and accepts only tiny frames.
class Channel {
  public:
    enum class Side { agent, coordinator };

    Channel(Side side, const Key& key);
    Channel(Channel&&) noexcept;
    Channel& operator=(Channel&&) noexcept;
    ~Channel();

    /// Whether the other side has proven that it has the key.
    bool open() const;

    /// For the coordinator's side: the first message had a proof of the key. It may be a replay.
    bool has_begun() const;

    /// Processes bytes received from the other side.
    /// @throws WrongKey, LinkError; afterwards only take_output() may be called, for bytes that tell the
    /// other side the reason.
    void take(std::string_view bytes);

    /// The next message, or nothing.
    std::optional<std::string> next();

    /// @throws LinkError if the channel is not open or the message is too long.
    void send(std::string_view message);

    /// Bytes to send to the other side; each is returned once.
    std::string take_output();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Maximum length of a message: a daemon's command line is at most as long as the kernel allows.
inline constexpr std::size_t max_message = 4 * 1024 * 1024;

}  // namespace dtrain::transport
