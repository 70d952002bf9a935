// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dtrain {

struct PrefixedLines {
    std::string text;
    std::size_t taken = 0;  ///< input bytes that `text` contains
};

/// As many complete lines from the beginning of `bytes`, each with `prefix`, as fit into `limit` bytes: a
/// text that is written at once is not interleaved with those of other ranks. A line that is too long becomes
/// several lines. Pure.
/// @param complete nothing will follow: an incomplete last line is included, with a newline
PrefixedLines prefixed_lines(std::string_view bytes, std::string_view prefix, std::size_t limit,
                             bool complete);

}  // namespace dtrain
