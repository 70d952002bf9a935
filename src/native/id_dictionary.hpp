// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/container/flat_hash_map.h>
#include <cstdint>
#include <span>

namespace dtrain::native {

/// Assigns numbers 0, 1, 2, ... to the distinct ids of a log in order of first occurrence: the row numbers of
/// a table that one process holds.
class IdDictionary {
  public:
    explicit IdDictionary(std::span<const std::int64_t> ids);

    /// Adds the next ids of the log.
    void add(std::span<const std::int64_t> ids);

    std::int64_t size() const { return static_cast<std::int64_t>(numbers_.size()); }

    /// size() for an id that is not in the log.
    std::int64_t number_of(std::int64_t id) const;

    /// Replaces each id by number_of() it.
    void translate(std::span<std::int64_t> ids) const;

  private:
    absl::flat_hash_map<std::int64_t, std::int64_t> numbers_;
};

}  // namespace dtrain::native
