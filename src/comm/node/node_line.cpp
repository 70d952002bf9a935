// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/node_line.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "comm/api/own_node_rank.hpp"

namespace dtrain::comm {

void report_once_per_node(std::string_view text, const Environment& environment) {
    if (own_node_rank(environment).value_or(0) == 0)
        write_all(STDERR_FILENO, fmt::format("dtrain: {}\n", text));
}

}  // namespace dtrain::comm
