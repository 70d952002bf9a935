// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/event_record.hpp"

#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "metrics/crc32c.hpp"

namespace dtrain::metrics {
namespace {

template <class Number>
void append_little_endian(std::string& out, Number number) {
    for (std::size_t byte = 0; byte < sizeof number; ++byte)
        out += static_cast<char>((number >> (8 * byte)) & 0xffU);
}

/// Encodes a message of protocol buffers (https://protobuf.dev/programming-guides/encoding/).
class Message {
  public:
    void number(int field, std::int64_t value) {
        key(field, 0);
        varint(static_cast<std::uint64_t>(value));
    }
    void real(int field, double value) {
        key(field, 1);
        append_little_endian(bytes_, std::bit_cast<std::uint64_t>(value));
    }
    void short_real(int field, float value) {
        key(field, 5);
        append_little_endian(bytes_, std::bit_cast<std::uint32_t>(value));
    }
    void text(int field, std::string_view value) {
        key(field, 2);
        varint(value.size());
        bytes_ += value;
    }
    const std::string& bytes() const { return bytes_; }

  private:
    void key(int field, unsigned wire_type) { varint((static_cast<unsigned>(field) << 3U) | wire_type); }
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>((value & 0x7fU) | 0x80U);
        bytes_ += static_cast<char>(value);
    }

    std::string bytes_;
};

std::string record(const Message& event) {
    const auto& data = event.bytes();
    std::string length;
    append_little_endian(length, std::uint64_t{data.size()});
    auto out = length;
    append_little_endian(out, masked_crc32c(length));
    out += data;
    append_little_endian(out, masked_crc32c(data));
    return out;
}

constexpr int event_wall_time = 1, event_step = 2, event_file_version = 3, event_summary = 5;
constexpr int summary_value = 1, value_tag = 1, value_simple = 2;

}  // namespace

std::string version_record(double time) {
    Message event;
    event.real(event_wall_time, time);
    event.text(event_file_version, "brain.Event:2");
    return record(event);
}

std::string scalars_record(double time, std::int64_t step, const std::vector<Measured>& scalars) {
    Message summary;
    for (const auto& [name, value] : scalars) {
        Message scalar;
        scalar.text(value_tag, tag_of(name));
        scalar.short_real(value_simple, static_cast<float>(value));
        summary.text(summary_value, scalar.bytes());
    }
    Message event;
    event.real(event_wall_time, time);
    event.number(event_step, step);
    event.text(event_summary, summary.bytes());
    return record(event);
}

std::string tag_of(const std::string& name) {
    const auto [part, what] = parted(name);
    return part.empty() ? name : fmt::format("{}/{}", part, what);
}

std::string event_file_name(double time, const std::string& host, int pid) {
    return fmt::format("events.out.tfevents.{:010}.{}.{}.0", static_cast<std::int64_t>(time), host, pid);
}

}  // namespace dtrain::metrics
