// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/parse_seconds.hpp"

#include <cmath>
#include <cstdlib>

namespace dtrain {

std::optional<std::chrono::milliseconds> parse_seconds(const std::string& text, std::chrono::seconds max) {
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(seconds >= 0 && seconds <= static_cast<double>(max.count())))
        return std::nullopt;
    return std::chrono::milliseconds(std::llround(seconds * 1000));
}

}  // namespace dtrain
