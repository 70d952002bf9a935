// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <dtrain/error.hpp>

/// Splits a byte stream into frames: four bytes of length, most significant first, then that many bytes.
namespace dtrain::transport {

/// Data from the other side is invalid; the connection cannot be used any more.
class LinkError : public Error {
  public:
    using Error::Error;
};

/// @throws LinkError if the content is longer than the length field allows.
std::string framed(std::string_view content);

class FrameReader {
  public:
    explicit FrameReader(std::size_t max) : max_(max) {}

    /// Sets the maximum length of frames from now on.
    void allow(std::size_t max) { max_ = max; }

    void take(std::string_view bytes) { bytes_ += bytes; }

    /// The content of the next complete frame, or nothing.
    /// @throws LinkError as soon as the length field of an oversized frame has arrived.
    std::optional<std::string> next();

    /// Number of bytes of an incomplete frame.
    std::size_t waiting() const { return bytes_.size() - begin_; }

  private:
    std::size_t max_;
    std::string bytes_;
    std::size_t begin_ = 0;  ///< start of the next frame
};

}  // namespace dtrain::transport
