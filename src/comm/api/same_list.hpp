// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/communicator.hpp>

namespace dtrain::comm {

/// Describes the first difference between the ranks' lists, for the first rank that differs from rank 0:
/// "rank 0 has 4 buffers and rank 1 has 3", or the first entry that differs; none if all lists are the same.
/// Collective.
/// @param list this rank's entries, each as a description
/// @param what name of the entries: "buffers"
std::optional<std::string> first_difference(const Communicator& communicator,
                                            const std::vector<std::string>& list, std::string_view what);

}  // namespace dtrain::comm
