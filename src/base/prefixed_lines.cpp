// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/prefixed_lines.hpp"

#include <algorithm>

namespace dtrain {

PrefixedLines prefixed_lines(std::string_view bytes, std::string_view prefix, std::size_t limit,
                             bool complete) {
    const auto max = limit - prefix.size() - 1;
    PrefixedLines out;
    while (!bytes.empty()) {
        const auto end = bytes.find('\n');
        const auto line = bytes.substr(0, std::min(end, max));
        const bool ended = end == line.size();
        const bool showable = ended || complete || line.size() == max;
        if (!showable || out.text.size() + prefix.size() + line.size() + 1 > limit) break;
        out.text.append(prefix).append(line).append("\n");
        const auto shown = line.size() + (ended ? 1 : 0);
        out.taken += shown;
        bytes.remove_prefix(shown);
    }
    return out;
}

}  // namespace dtrain
