// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/frames.hpp"

#include <cstdint>
#include <limits>

#include <fmt/format.h>

namespace dtrain::transport {
namespace {

constexpr std::size_t length_bytes = 4;
constexpr std::size_t tidy_from = 64 * 1024;

std::size_t length_at(std::string_view bytes) {
    std::uint32_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i)
        length = length << 8 | static_cast<unsigned char>(bytes[i]);
    return length;
}

}  // namespace

std::string framed(std::string_view content) {
    if (content.size() > std::numeric_limits<std::uint32_t>::max())
        throw LinkError(fmt::format("{} bytes are too many for one message", content.size()));
    std::string out(length_bytes, '\0');
    auto length = static_cast<std::uint32_t>(content.size());
    for (auto digit = out.rbegin(); digit != out.rend(); ++digit, length >>= 8)
        *digit = static_cast<char>(length & 0xff);
    return out.append(content);
}

std::optional<std::string> FrameReader::next() {
    const auto rest = std::string_view(bytes_).substr(begin_);
    if (rest.size() < length_bytes) return std::nullopt;
    const auto length = length_at(rest);
    if (length > max_)
        throw LinkError(fmt::format("a message of {} bytes where {} are allowed", length, max_));
    if (rest.size() < length_bytes + length) return std::nullopt;
    std::string content(rest.substr(length_bytes, length));
    begin_ += length_bytes + length;
    if (begin_ == bytes_.size() || begin_ >= tidy_from) {
        bytes_.erase(0, begin_);
        begin_ = 0;
    }
    return content;
}

}  // namespace dtrain::transport
