// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/layout_difference.hpp"

#include <fmt/format.h>

namespace dtrain::ps {
namespace {

std::string_view take_line(std::string_view& text) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line.empty() ? "nothing" : line;
}

}  // namespace

std::optional<std::string> layout_difference(std::string_view server, std::string_view trainer) {
    while (!server.empty() || !trainer.empty()) {
        const auto of_server = take_line(server);
        const auto of_trainer = take_line(trainer);
        if (of_server != of_trainer)
            return fmt::format(
                "trainer and server were started with different programs or options: the "
                "server has '{}' where the trainer has '{}'",
                of_server, of_trainer);
    }
    return std::nullopt;
}

}  // namespace dtrain::ps
