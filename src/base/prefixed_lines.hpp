// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dtrain {

struct PrefixedLines {
    std::string text;
    std::size_t taken = 0;  ///< bytes of the input that `text` shows
};

/// As many whole lines from the beginning of `bytes`, each behind `prefix`, as fit into `limit` bytes: a
/// piece that is written at once stays whole among those of other ranks. A line that is too long becomes
/// several. Pure.
/// @param complete nothing will follow: what is left counts as a line and gets an end
PrefixedLines prefixed_lines(std::string_view bytes, std::string_view prefix, std::size_t limit,
                             bool complete);

}  // namespace dtrain
