// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/channel.hpp"

#include <deque>
#include <sodium.h>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace dtrain::transport {
namespace {

using Stream = crypto_secretstream_xchacha20poly1305_state;

constexpr std::size_t header_bytes = crypto_secretstream_xchacha20poly1305_HEADERBYTES;
constexpr std::size_t added_bytes = crypto_secretstream_xchacha20poly1305_ABYTES;

static_assert(crypto_secretstream_xchacha20poly1305_KEYBYTES == sizeof(StreamKey));
static_assert(header_bytes <= max_handshake_message);

unsigned char* bytes_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

const unsigned char* bytes_of(const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

struct Channel::State {
    explicit State(AgentHandshake own) : step(Step::second), handshake(std::move(own)) {
        output = framed(agent().first());
    }
    explicit State(CoordinatorHandshake own) : step(Step::first), handshake(std::move(own)) {}

    AgentHandshake& agent() { return std::get<AgentHandshake>(handshake); }
    CoordinatorHandshake& coordinator() { return std::get<CoordinatorHandshake>(handshake); }

    ~State() {
        ::sodium_memzero(&sending, sizeof sending);
        ::sodium_memzero(&receiving, sizeof receiving);
    }

    enum class Step { first, second, third, header, open };

    void take_frame(std::string frame) {
        switch (step) {
            case Step::first:
                answer_first(frame);
                step = Step::third;
                break;
            case Step::second:
                output += framed(agent().third(frame));
                begin_sending(agent().keys().to_coordinator);
                step = Step::header;
                break;
            case Step::third:
                coordinator().finish(frame);
                begin_sending(coordinator().keys().to_agent);
                step = Step::header;
                break;
            case Step::header:
                begin_receiving(frame);
                frames.allow(max_message + added_bytes);
                step = Step::open;
                break;
            case Step::open:
                messages.push_back(decrypted(frame));
                break;
        }
    }

    void answer_first(const std::string& frame) {
        try {
            output += framed(coordinator().second(frame));
        } catch (const WrongKey&) {
            output += framed(other_key_answer);
            throw;
        }
    }

    void begin_sending(const StreamKey& key) {
        std::string header(header_bytes, '\0');
        ::crypto_secretstream_xchacha20poly1305_init_push(&sending, bytes_of(header), key.data());
        output += framed(header);
    }

    void begin_receiving(const std::string& header) {
        const auto& key = std::holds_alternative<AgentHandshake>(handshake)
                              ? agent().keys().to_agent
                              : coordinator().keys().to_coordinator;
        if (header.size() != header_bytes ||
            ::crypto_secretstream_xchacha20poly1305_init_pull(&receiving, bytes_of(header), key.data()) != 0)
            throw LinkError("an encrypted stream begins wrongly");
    }

    std::string decrypted(const std::string& frame) {
        if (frame.size() < added_bytes) throw LinkError("an encrypted message is too short");
        std::string message(frame.size() - added_bytes, '\0');
        unsigned char tag = 0;
        if (::crypto_secretstream_xchacha20poly1305_pull(&receiving, bytes_of(message), nullptr, &tag,
                                                         bytes_of(frame), frame.size(), nullptr, 0) != 0)
            throw LinkError("an encrypted message was changed on its way");
        return message;
    }

    std::string encrypted(std::string_view message) {
        std::string frame(message.size() + added_bytes, '\0');
        ::crypto_secretstream_xchacha20poly1305_push(
            &sending, bytes_of(frame), nullptr, reinterpret_cast<const unsigned char*>(message.data()),
            message.size(), nullptr, 0, crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
        return frame;
    }

    Step step;
    std::variant<AgentHandshake, CoordinatorHandshake> handshake;
    FrameReader frames{max_handshake_message};
    Stream sending{};
    Stream receiving{};
    std::string output;
    std::deque<std::string> messages;
};

Channel::Channel(Side side, const Key& key)
    : state_(side == Side::agent ? std::make_unique<State>(AgentHandshake(key))
                                 : std::make_unique<State>(CoordinatorHandshake(key))) {}
Channel::Channel(Channel&&) noexcept = default;
Channel& Channel::operator=(Channel&&) noexcept = default;
Channel::~Channel() = default;

bool Channel::open() const {
    return state_->step == State::Step::open;
}

bool Channel::has_begun() const {
    return state_->step > State::Step::second;
}

void Channel::take(std::string_view bytes) {
    state_->frames.take(bytes);
    while (auto frame = state_->frames.next()) state_->take_frame(std::move(*frame));
}

std::optional<std::string> Channel::next() {
    if (state_->messages.empty()) return std::nullopt;
    auto message = std::move(state_->messages.front());
    state_->messages.pop_front();
    return message;
}

void Channel::send(std::string_view message) {
    if (!open()) throw LinkError("the other side has not proven the key yet");
    if (message.size() > max_message)
        throw LinkError(fmt::format("a message of {} bytes is too long for the link", message.size()));
    state_->output += framed(state_->encrypted(message));
}

std::string Channel::take_output() {
    return std::exchange(state_->output, {});
}

}  // namespace dtrain::transport
