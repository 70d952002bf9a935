// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/wire/message.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ps/wire/message_bytes.hpp"

namespace dtrain::ps {
namespace {

template <class T>
std::span<const T> as(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <class T>
std::span<T> as(std::span<std::byte> bytes) {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

[[noreturn]] void refuse_length(std::uint64_t count, std::size_t payload) {
    throw MessageError(fmt::format("a section of {} has {} bytes", count, payload));
}

}  // namespace

std::string_view to_string(MessageKind kind) {
    switch (kind) {
        case MessageKind::join:
            return "join";
        case MessageKind::accept:
            return "accept";
        case MessageKind::pull:
            return "pull";
        case MessageKind::values:
            return "values";
        case MessageKind::push:
            return "push";
        case MessageKind::applied:
            return "applied";
        case MessageKind::save:
            return "save";
        case MessageKind::saving:
            return "saving";
        case MessageKind::saved:
            return "saved";
        case MessageKind::day:
            return "day";
        case MessageKind::begun:
            return "begun";
        case MessageKind::count:
            return "count";
        case MessageKind::counted:
            return "counted";
        case MessageKind::sizes:
            return "sizes";
        case MessageKind::sized:
            return "sized";
        case MessageKind::leave:
            return "leave";
        case MessageKind::farewell:
            return "farewell";
        case MessageKind::failed:
            return "failed";
        case MessageKind::abandon:
            return "abandon";
        case MessageKind::idle:
            return "idle";
    }
    return "unknown";
}

bool is_answer(MessageKind kind, MessageKind asked) {
    switch (asked) {
        case MessageKind::join:
            return kind == MessageKind::accept;
        case MessageKind::pull:
            return kind == MessageKind::values;
        case MessageKind::push:
            return kind == MessageKind::applied;
        case MessageKind::save:
            return kind == MessageKind::saving || kind == MessageKind::saved || kind == MessageKind::failed;
        case MessageKind::day:
            return kind == MessageKind::begun;
        case MessageKind::count:
            return kind == MessageKind::counted;
        case MessageKind::sizes:
            return kind == MessageKind::sized;
        case MessageKind::leave:
            return kind == MessageKind::farewell;
        default:
            return false;
    }
}

std::string too_long(MessageKind kind, int to, std::size_t bytes, std::size_t max) {
    return fmt::format(
        "a '{}' for rank {} has {} bytes, and one message has {} at most: use more servers, a smaller batch, "
        "or a shorter wire ([servers] wire = \"bfloat16\")",
        to_string(kind), to, bytes, max);
}

std::span<const std::int64_t> Section::ids() const {
    if (count > payload.size() / sizeof(std::int64_t)) refuse_length(count, payload.size());
    return as<std::int64_t>(payload.first(count * sizeof(std::int64_t)));
}

std::span<const float> Section::floats_behind_ids(std::size_t values) const {
    const auto behind = payload.subspan(ids().size_bytes());
    if (values > behind.size() / sizeof(float) || behind.size() != padded(values * sizeof(float)))
        refuse_length(count, payload.size());
    return as<float>(behind).first(values);
}

std::span<const float> Section::floats(std::size_t values) const {
    if (values > payload.size() / sizeof(float) || payload.size() != padded(values * sizeof(float)))
        refuse_length(count, payload.size());
    return as<float>(payload).first(values);
}

MessageReader::MessageReader(std::span<const std::byte> bytes) {
    HeaderBytes header{};
    if (bytes.size() < sizeof(header)) throw MessageError(fmt::format("a message of {} bytes", bytes.size()));
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.mark != mark)
        throw MessageError(
            fmt::format("a message that begins with {:08x}, expected {:08x}", header.mark, mark));
    if (header.version != protocol_version)
        throw MessageError(
            fmt::format("a message of protocol {}, expected {}: trainers and servers must be of "
                        "one version of dtrain",
                        header.version, protocol_version));
    if (header.kind < static_cast<std::uint16_t>(MessageKind::join) ||
        header.kind > static_cast<std::uint16_t>(MessageKind::idle))
        throw MessageError(fmt::format("a message of kind {}", header.kind));
    if (header.numbers != 0)
        throw MessageError(fmt::format("a message with numbers of kind {}, expected 0", header.numbers));
    header_ = {static_cast<MessageKind>(header.kind), header.steps, header.step, header.request};
    rest_ = bytes.subspan(sizeof(header));
}

std::optional<Section> MessageReader::next() {
    if (rest_.empty()) return std::nullopt;
    SectionBytes section{};
    if (rest_.size() < sizeof(section))
        throw MessageError(fmt::format("a section that begins {} bytes before the end", rest_.size()));
    std::memcpy(&section, rest_.data(), sizeof(section));
    rest_ = rest_.subspan(sizeof(section));
    if (section.payload > rest_.size() || section.payload % 8 != 0)
        throw MessageError(fmt::format("a section of {} bytes of {}", section.payload, rest_.size()));
    const auto payload = rest_.first(section.payload);
    rest_ = rest_.subspan(section.payload);
    return Section{section.table,
                   (section.flags & reads_only_flag) != 0,
                   (section.flags & each_once_flag) != 0,
                   section.first,
                   section.count,
                   payload};
}

std::string_view MessageReader::text() const {
    MessageReader copy = *this;
    const auto section = copy.next();
    if (!section || section->count > section->payload.size())
        throw MessageError(fmt::format("a {} without its text", to_string(header_.kind)));
    return {reinterpret_cast<const char*>(section->payload.data()), section->count};
}

MessageWriter::MessageWriter(comm::Transport& transport, const MessageHeader& header, std::size_t capacity)
    : transport_(&transport) {
    const HeaderBytes bytes{
        mark,        protocol_version, static_cast<std::uint16_t>(header.kind), header.steps, 0,
        header.step, header.request};
    content_ = transport.memory(std::max(capacity, sizeof(bytes)));
    content_.resize(sizeof(bytes));
    std::memcpy(content_.data(), &bytes, sizeof(bytes));
}

void MessageWriter::set_steps(std::uint32_t steps) {
    std::memcpy(content_.data() + offsetof(HeaderBytes, steps), &steps, sizeof(steps));
}

void MessageWriter::set_request(std::uint64_t request) {
    std::memcpy(content_.data() + offsetof(HeaderBytes, request), &request, sizeof(request));
}

std::span<std::byte> MessageWriter::add_section(const Section& section, std::size_t payload) {
    const auto flags =
        (section.reads_only ? reads_only_flag : 0) | (section.has_each_id_once ? each_once_flag : 0);
    const SectionBytes bytes{section.table, flags, section.first, section.count, padded(payload)};
    const auto at = last_section_ = content_.size();
    content_.resize(at + sizeof(bytes) + padded(payload));
    std::memcpy(content_.data() + at, &bytes, sizeof(bytes));
    const auto behind = content_.bytes().subspan(at + sizeof(bytes));
    std::ranges::fill(behind.subspan(payload), std::byte{0});
    return behind.first(payload);
}

void MessageWriter::add_text(std::string_view text) {
    const auto to = add_section({.count = text.size()}, text.size());
    std::memcpy(to.data(), text.data(), text.size());
}

void MessageWriter::add_day(std::uint32_t day, bool shrinks) {
    add_section({.first = day, .count = shrinks ? 1U : 0U}, 0);
}

std::span<float> MessageWriter::add_dense(std::uint64_t first, std::uint64_t count) {
    return as<float>(add_section({.first = first, .count = count}, count * sizeof(float)));
}

void MessageWriter::ask_dense(std::uint64_t first, std::uint64_t count) {
    add_section({.first = first, .count = count}, 0);
}

std::span<std::int64_t> MessageWriter::ask_rows(std::uint32_t table, std::uint64_t count, bool reads_only) {
    return as<std::int64_t>(add_section({.table = table, .reads_only = reads_only, .count = count},
                                        count * sizeof(std::int64_t)));
}

MessageWriter::Rows MessageWriter::add_rows(std::uint32_t table, std::uint64_t count, std::uint64_t width,
                                            bool has_each_id_once) {
    const auto id_bytes = count * sizeof(std::int64_t);
    const auto to = add_section({.table = table, .has_each_id_once = has_each_id_once, .count = count},
                                id_bytes + count * width * sizeof(float));
    return {as<std::int64_t>(to.first(id_bytes)), as<float>(to.subspan(id_bytes))};
}

std::span<float> MessageWriter::add_values(std::uint32_t table, std::uint64_t count, std::uint64_t width) {
    return as<float>(add_section({.table = table, .count = count}, count * width * sizeof(float)));
}

void MessageWriter::set_size(std::uint64_t rows) {
    std::memcpy(content_.data() + last_section_ + offsetof(SectionBytes, first), &rows, sizeof(rows));
}

void MessageWriter::add_size(std::uint32_t table, std::uint64_t rows, std::uint64_t evicted) {
    add_section({.table = table, .first = rows, .count = evicted}, 0);
}

std::size_t MessageWriter::bytes_of_rows(std::uint64_t count, std::uint64_t width) {
    return sizeof(HeaderBytes) + sizeof(SectionBytes) +
           padded(count * (sizeof(std::int64_t) + width * sizeof(float)));
}

void MessageWriter::send(int to) {
    HeaderBytes header{};
    std::memcpy(&header, content_.data(), sizeof(header));
    try {
        transport_->send(to, std::move(content_));
    } catch (const comm::MessageTooLong& refused) {
        throw MessageError(
            too_long(static_cast<MessageKind>(header.kind), to, refused.bytes(), refused.max()));
    }
}

void send_message(comm::Transport& transport, int to, const MessageHeader& header, std::string_view text) {
    MessageWriter writer(transport, header);
    if (!text.empty()) writer.add_text(text);
    writer.send(to);
}

}  // namespace dtrain::ps
