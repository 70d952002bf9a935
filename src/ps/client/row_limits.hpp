// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "ps/client/server_error.hpp"
#include "ps/client/table_sizes.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// What a trainer knows about tables that have more rows than their limit: the sizes in the servers' answers,
/// and the refusal of a server that alone exceeds a limit.
class RowLimits {
  public:
    /// @param limits by table number
    RowLimits(std::vector<std::optional<TableLimit>> limits, std::size_t servers)
        : sizes_(std::move(limits), servers) {}

    bool are_any() const { return sizes_.is_limited(); }

    /// Records the sizes in an answer, if it has any.
    void note(int server, MessageReader answer);
    void note_refusal(ServerError refusal) { refusal_ = std::move(refusal); }

    bool has_refusal() const { return refusal_.has_value(); }
    /// @throws ServerError if a server has refused a batch since the last call
    void throw_refusal();

    /// Whether a limit is exceeded, as far as is known.
    bool is_passed() const { return sizes_.is_passed(); }
    /// The same, until it is reported. Rows that are evicted later make a new report possible.
    bool is_unreported();
    bool is_reported() const { return is_reported_; }
    /// @throws DictSizeError, if a limit is exceeded, which counts as reported then
    void report();

  private:
    TableSizes sizes_;
    std::optional<ServerError> refusal_;
    bool is_reported_ = false;
};

}  // namespace dtrain::ps
