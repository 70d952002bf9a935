// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "link/frames.hpp"
#include "link/handshake.hpp"
#include "link/key.hpp"

namespace dtrain::link {

/// One end of an encrypted conversation: bytes of a stream in, messages out, and the reverse. It knows
/// nothing of sockets. Until the other side has proven the key, no message comes out and frames are tiny.
class Channel {
  public:
    enum class Side { agent, coordinator };

    Channel(Side side, const Key& key);
    Channel(Channel&&) noexcept;
    Channel& operator=(Channel&&) noexcept;
    ~Channel();

    /// The other side has proven that it has the key.
    bool open() const;

    /// A coordinator's side: the first message had a proof of the key. It may be a recording.
    bool has_begun() const;

    /// Bytes that came from the other side.
    /// @throws WrongKey, LinkError; then only take_output() is of use, for what explains it to the other
    /// side.
    void take(std::string_view bytes);

    /// The next message, or nothing.
    std::optional<std::string> next();

    /// @throws LinkError when the channel is not open or the message too long.
    void send(std::string_view message);

    /// Bytes for the other side, handed out once.
    std::string take_output();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// No message is longer: a daemon's command line is at most as long as the kernel allows.
inline constexpr std::size_t max_message = 4 * 1024 * 1024;

}  // namespace dtrain::link
