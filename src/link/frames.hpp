// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <dtrain/error.hpp>

/// A stream of bytes as frames: four bytes of length, most significant first, then that many bytes.
namespace dtrain::link {

/// What came from the other side cannot be used; the connection is of no use any more.
class LinkError : public Error {
  public:
    using Error::Error;
};

/// @throws LinkError when the content is longer than a length can say.
std::string framed(std::string_view content);

class FrameReader {
  public:
    explicit FrameReader(std::size_t max) : max_(max) {}

    /// Frames that come from now on may be this long.
    void allow(std::size_t max) { max_ = max; }

    void take(std::string_view bytes) { bytes_ += bytes; }

    /// The next whole frame's content, or nothing.
    /// @throws LinkError as soon as the length of an oversized frame is there.
    std::optional<std::string> next();

    /// Bytes that wait for the rest of their frame.
    std::size_t waiting() const { return bytes_.size() - begin_; }

  private:
    std::size_t max_;
    std::string bytes_;
    std::size_t begin_ = 0;  ///< of the next frame
};

}  // namespace dtrain::link
