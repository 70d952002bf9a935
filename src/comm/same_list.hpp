// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/communicator.hpp>

namespace dtrain::comm {

/// What is not the same on all ranks, by the first rank that differs from rank 0: "rank 0 has 4 buffers and
/// rank 1 has 3", or the first entry that differs; nothing: all have the same list. Collective.
/// @param list what this rank has, each described in words
/// @param what the entries are: "buffers"
std::optional<std::string> first_difference(const Communicator& communicator,
                                            const std::vector<std::string>& list, std::string_view what);

}  // namespace dtrain::comm
