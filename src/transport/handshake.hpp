// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "transport/frames.hpp"
#include "transport/key.hpp"

/// Handshake by which two launchers prove to each other that they have the same key, before any other data is
/// processed. Three messages, agent first:
///   1. version, ephemeral public key and nonce of the agent; a proof of the key over these
///   2. the coordinator's public key and nonce; a proof over everything so far and the shared secret
///   3. the agent's proof over the same
/// The ephemeral X25519 keys (crypto_kx) give every connection its own secret: recorded traffic cannot be
/// decrypted later, even by somebody who learns the key. Pure except for random numbers.
namespace dtrain::transport {

/// The other side has another key.
class WrongKey : public LinkError {
  public:
    using LinkError::LinkError;
};

using StreamKey = std::array<unsigned char, 32>;

/// One key for each direction.
struct StreamKeys {
    StreamKey to_coordinator;
    StreamKey to_agent;
};

/// Maximum length of a handshake message.
inline constexpr std::size_t max_handshake_message = 160;

/// The coordinator's answer to an agent with another key, instead of message 2.
inline constexpr std::string_view other_key_answer = "other key";

class AgentHandshake {
  public:
    explicit AgentHandshake(const Key& key);

    const std::string& first() const { return first_; }
    /// Checks message 2 and returns message 3; keys() is valid from then on.
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
    /// Checks message 3; keys() is valid from then on.
    /// @throws WrongKey
    void finish(std::string_view third);
    const StreamKeys& keys() const { return keys_; }

  private:
    Key key_;
    std::string expected_third_;
    StreamKeys keys_{};
};

}  // namespace dtrain::transport
