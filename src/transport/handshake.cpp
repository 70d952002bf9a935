// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/handshake.hpp"

#include <algorithm>
#include <sodium.h>

namespace dtrain::transport {
namespace {

constexpr std::string_view family = "dtrain-link/";
constexpr std::string_view version = "dtrain-link/1\n";
constexpr std::size_t public_bytes = crypto_kx_PUBLICKEYBYTES;
constexpr std::size_t nonce_bytes = 32;
constexpr std::size_t proof_bytes = 32;
constexpr std::size_t first_length = version.size() + public_bytes + nonce_bytes + proof_bytes;
constexpr std::size_t second_length = public_bytes + nonce_bytes + proof_bytes;

static_assert(public_bytes == 32 && crypto_kx_SESSIONKEYBYTES == sizeof(StreamKey));
static_assert(first_length <= max_handshake_message && second_length <= max_handshake_message);

std::string_view text_of(const unsigned char* bytes, std::size_t length) {
    return {reinterpret_cast<const char*>(bytes), length};
}

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

/// Keyed BLAKE2b; `purpose` separates the uses of one key.
std::string mac(const Key& key, std::string_view purpose, std::string_view content) {
    std::string input(purpose);
    input.push_back('\0');
    input += content;
    std::string out(proof_bytes, '\0');
    ::crypto_generichash(reinterpret_cast<unsigned char*>(out.data()), out.size(), bytes_of(input),
                         input.size(), key.data(), key_bytes);
    return out;
}

bool same(std::string_view a, std::string_view b) {
    return a.size() == b.size() && ::sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string nonce() {
    std::string out(nonce_bytes, '\0');
    ::randombytes_buf(out.data(), out.size());
    return out;
}

StreamKey stream_key(const Key& key, std::string_view purpose, std::string_view content) {
    const auto bytes = mac(key, purpose, content);
    StreamKey out{};
    std::copy(bytes.begin(), bytes.end(), out.begin());
    return out;
}

/// What both sides derive from the shared secret and the handshake so far.
struct Agreement {
    std::string proof_of_coordinator;
    std::string proof_of_agent;
    StreamKeys keys;
};

Agreement agree(const Key& key, const StreamKey& to_coordinator, const StreamKey& to_agent,
                std::string_view said) {
    std::string content(text_of(to_coordinator.data(), to_coordinator.size()));
    content += text_of(to_agent.data(), to_agent.size());
    content += said;
    Agreement out{.proof_of_coordinator = mac(key, "head", content),
                  .proof_of_agent = mac(key, "follower", content),
                  .keys = {.to_coordinator = stream_key(key, "to head", content),
                           .to_agent = stream_key(key, "to follower", content)}};
    ::sodium_memzero(content.data(), content.size());
    return out;
}

}  // namespace

AgentHandshake::AgentHandshake(const Key& key) : key_(key) {
    start_cryptography();
    ::crypto_kx_keypair(public_.data(), secret_.data());
    first_ = std::string(version).append(text_of(public_.data(), public_.size())) + nonce();
    first_ += mac(key_, "first", first_);
}

std::string AgentHandshake::third(std::string_view second) {
    if (second == other_key_answer) throw WrongKey("the coordinator has another key");
    if (second.size() != second_length) throw LinkError("this is no answer of a coordinator of this version");
    const auto spoken = second.substr(0, second_length - proof_bytes);
    StreamKey received{}, sent{};
    if (::crypto_kx_client_session_keys(received.data(), sent.data(), public_.data(), secret_.data(),
                                        bytes_of(second)) != 0)
        throw LinkError("the coordinator's public key is none");
    const auto agreement = agree(key_, sent, received, first_ + std::string(spoken));
    ::sodium_memzero(secret_.data(), secret_.size());
    if (!same(agreement.proof_of_coordinator, second.substr(second_length - proof_bytes)))
        throw WrongKey("the coordinator has another key");
    keys_ = agreement.keys;
    return agreement.proof_of_agent;
}

CoordinatorHandshake::CoordinatorHandshake(const Key& key) : key_(key) {
    start_cryptography();
}

std::string CoordinatorHandshake::second(std::string_view first) {
    if (!first.starts_with(family)) throw LinkError("this is no launcher");
    if (!first.starts_with(version) || first.size() != first_length)
        throw LinkError("this launcher speaks another version");
    const auto spoken = first.substr(0, first_length - proof_bytes);
    if (!same(mac(key_, "first", spoken), first.substr(first_length - proof_bytes)))
        throw WrongKey("this launcher has another key");
    std::array<unsigned char, 32> own_public{}, own_secret{};
    ::crypto_kx_keypair(own_public.data(), own_secret.data());
    StreamKey received{}, sent{};
    const int agreed =
        ::crypto_kx_server_session_keys(received.data(), sent.data(), own_public.data(), own_secret.data(),
                                        bytes_of(first.substr(version.size())));
    ::sodium_memzero(own_secret.data(), own_secret.size());
    if (agreed != 0) throw LinkError("the launcher's public key is none");
    const auto answer = std::string(text_of(own_public.data(), own_public.size())) + nonce();
    const auto agreement = agree(key_, received, sent, std::string(first) + answer);
    keys_ = agreement.keys;
    expected_third_ = agreement.proof_of_agent;
    return answer + agreement.proof_of_coordinator;
}

void CoordinatorHandshake::finish(std::string_view third) {
    if (expected_third_.empty() || !same(expected_third_, third))
        throw WrongKey("this launcher does not have the key; it repeated what another one said");
}

}  // namespace dtrain::transport
