// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "link/frames.hpp"
#include "link/key.hpp"

/// How two launchers prove to each other that they have the same key, before anything else is looked at.
/// Three messages, agent first:
///   1. version, fresh public key and nonce of the agent; a proof by the key over these
///   2. the coordinator's public key and nonce; a proof over everything so far and the secret that both now
///   share
///   3. the agent's proof over the same
/// The fresh X25519 keys (crypto_kx) make every connection's secret its own: what was recorded opens nothing
/// later, even to somebody who learns the key. Pure but for random numbers.
namespace dtrain::link {

/// The other side has another key.
class WrongKey : public LinkError {
  public:
    using LinkError::LinkError;
};

using StreamKey = std::array<unsigned char, 32>;

/// One for each direction.
struct StreamKeys {
    StreamKey to_coordinator;
    StreamKey to_agent;
};

/// No message of the handshake is longer.
inline constexpr std::size_t max_handshake_message = 160;

/// What the coordinator answers to an agent with another key, in place of message 2.
inline constexpr std::string_view other_key_answer = "other key";

class AgentHandshake {
  public:
    explicit AgentHandshake(const Key& key);

    const std::string& first() const { return first_; }
    /// Checks message 2 and gives message 3; keys() is good from then on.
    /// @throws WrongKey, LinkError
    std::string third(std::string_view second);
    const StreamKeys& keys() const { return keys_; }

  private:
    Key key_;
    std::array<unsigned char, 32> public_{};
    std::array<unsigned char, 32> secret_{};
    std::string first_;
    StreamKeys keys_{};
};

class CoordinatorHandshake {
  public:
    explicit CoordinatorHandshake(const Key& key);

    /// @throws WrongKey, LinkError
    std::string second(std::string_view first);
    /// Checks message 3; keys() is good from then on.
    /// @throws WrongKey
    void finish(std::string_view third);
    const StreamKeys& keys() const { return keys_; }

  private:
    Key key_;
    std::string expected_third_;
    StreamKeys keys_{};
};

}  // namespace dtrain::link
