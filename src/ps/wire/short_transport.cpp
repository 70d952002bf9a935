// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/wire/short_transport.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <dtrain/half.hpp>

#include "ps/wire/message.hpp"
#include "ps/wire/message_bytes.hpp"

namespace dtrain::ps {
namespace {

constexpr std::size_t short_bytes = 2;

bfloat16 shortened(float value, bfloat16 /*to*/) {
    // Clamped, since rounding up would turn the largest numbers into infinity.
    constexpr float max = 0x1.FEp127F;
    return bfloat16(std::isinf(value) ? value : std::clamp(value, -max, max));
}

float16 shortened(float value, float16 /*to*/) {
    constexpr float max = 65504;
    return float16(std::isinf(value) ? value : std::clamp(value, -max, max));
}

// `to` may equal `from` or start before it: nothing is overwritten before it is read.
template <class Short>
void shorten(const std::byte* from, std::byte* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        float value = 0;
        std::memcpy(&value, from + i * sizeof(value), sizeof(value));
        const auto bits = shortened(value, Short()).bits;
        std::memcpy(to + i * short_bytes, &bits, short_bytes);
    }
}

template <class Short>
void lengthen(const std::byte* from, std::byte* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, from + i * short_bytes, short_bytes);
        const auto value = static_cast<float>(Short::of_bits(bits));
        std::memcpy(to + i * sizeof(value), &value, sizeof(value));
    }
}

bool has_numbers(const HeaderBytes& header) {
    return header.kind == static_cast<std::uint16_t>(MessageKind::push) ||
           header.kind == static_cast<std::uint16_t>(MessageKind::values);
}

bool has_ids(const HeaderBytes& header, const SectionBytes& section) {
    return header.kind == static_cast<std::uint16_t>(MessageKind::push) && section.table != dense_parameters;
}

// Bytes of ids before a section's floats.
std::uint64_t id_bytes(const HeaderBytes& header, const SectionBytes& section) {
    return has_ids(header, section) ? section.count * sizeof(std::int64_t) : 0;
}

template <class Bytes>
Bytes read(const std::byte* at) {
    Bytes bytes;
    std::memcpy(&bytes, at, sizeof(bytes));
    return bytes;
}

// Shortens an outgoing message in place.
void shorten(comm::MessageBytes& message, WireType numbers) {
    auto header = read<HeaderBytes>(message.data());
    if (!has_numbers(header)) return;
    header.numbers = static_cast<std::uint32_t>(numbers);
    std::memcpy(message.data(), &header, sizeof(header));
    auto* to = message.data() + sizeof(header);
    const auto* const end = message.data() + message.size();
    for (const auto* from = to; from < end;) {
        auto section = read<SectionBytes>(from);
        const auto* const payload = from + sizeof(section);
        const auto ids = id_bytes(header, section);
        const auto floats = (section.payload - ids) / sizeof(float);
        from = payload + section.payload;
        section.payload = ids + floats * short_bytes;
        std::memcpy(to, &section, sizeof(section));
        std::memmove(to + sizeof(section), payload, ids);
        auto* const shorts = to + sizeof(section) + ids;
        if (numbers == WireType::float16)
            shorten<float16>(payload + ids, shorts, floats);
        else
            shorten<bfloat16>(payload + ids, shorts, floats);
        to = shorts + floats * short_bytes;
    }
    message.resize(static_cast<std::size_t>(to - message.data()));
}

// The size of the lengthened message; nothing if the message is incomplete.
std::optional<std::size_t> lengthened_size(std::span<const std::byte> message, const HeaderBytes& header) {
    auto size = sizeof(header);
    for (auto rest = message.subspan(sizeof(header)); !rest.empty();) {
        if (rest.size() < sizeof(SectionBytes)) return std::nullopt;
        const auto section = read<SectionBytes>(rest.data());
        rest = rest.subspan(sizeof(section));
        if (section.payload > rest.size()) return std::nullopt;
        if (has_ids(header, section) && section.count > message.size()) return std::nullopt;
        const auto ids = id_bytes(header, section);
        // Payloads are padded to 8 bytes, which hold two floats.
        if (ids > section.payload || (section.payload - ids) % (2 * short_bytes) != 0) return std::nullopt;
        size += sizeof(section) + ids + (section.payload - ids) / short_bytes * sizeof(float);
        rest = rest.subspan(section.payload);
    }
    return size;
}

void lengthen(std::span<const std::byte> message, HeaderBytes header, std::byte* to) {
    const auto numbers = static_cast<WireType>(std::exchange(header.numbers, 0));
    std::memcpy(to, &header, sizeof(header));
    to += sizeof(header);
    for (auto rest = message.subspan(sizeof(header)); !rest.empty();) {
        auto section = read<SectionBytes>(rest.data());
        const auto payload = rest.subspan(sizeof(section), section.payload);
        rest = rest.subspan(sizeof(section) + section.payload);
        const auto ids = id_bytes(header, section);
        const auto floats = (payload.size() - ids) / short_bytes;
        section.payload = ids + floats * sizeof(float);
        std::memcpy(to, &section, sizeof(section));
        to += sizeof(section);
        std::memcpy(to, payload.data(), ids);
        to += ids;
        if (numbers == WireType::float16)
            lengthen<float16>(payload.data() + ids, to, floats);
        else
            lengthen<bfloat16>(payload.data() + ids, to, floats);
        to += floats * sizeof(float);
    }
}

class ShortTransport final : public comm::Transport {
  public:
    ShortTransport(std::shared_ptr<comm::Transport> transport, WireType numbers)
        : transport_(std::move(transport)), numbers_(numbers) {}

    int rank() const override { return transport_->rank(); }
    int size() const override { return transport_->size(); }
    bool is_crowded() const override { return transport_->is_crowded(); }

    void send(int to, comm::MessageBytes&& content) override {
        shorten(content, numbers_);
        transport_->send(to, std::move(content));
    }

    std::optional<comm::Message> receive() override {
        auto message = transport_->receive();
        if (!message || message->content.size() < sizeof(HeaderBytes)) return message;
        const auto header = read<HeaderBytes>(message->content.data());
        if (header.mark != mark || header.numbers != static_cast<std::uint32_t>(numbers_) ||
            !has_numbers(header))
            return message;
        const auto bytes = std::as_const(message->content).bytes();
        const auto size = lengthened_size(bytes, header);
        if (!size) return message;
        auto content = memory(*size);
        content.resize(*size);
        lengthen(bytes, header, content.data());
        transport_->recycle(std::exchange(message->content, std::move(content)));
        return message;
    }

    bool deliver() override { return transport_->deliver(); }
    comm::MessageBytes memory(std::size_t bytes) override { return transport_->memory(bytes); }
    void recycle(comm::MessageBytes&& content) override { transport_->recycle(std::move(content)); }

  private:
    std::shared_ptr<comm::Transport> transport_;
    WireType numbers_;
};

}  // namespace

std::shared_ptr<comm::Transport> with_wire_type(std::shared_ptr<comm::Transport> transport,
                                                WireType numbers) {
    if (numbers == WireType::float32) return transport;
    return std::make_shared<ShortTransport>(std::move(transport), numbers);
}

}  // namespace dtrain::ps
