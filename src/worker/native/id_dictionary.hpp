// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/container/flat_hash_map.h>
#include <cstdint>
#include <span>

namespace dtrain::native {

/// Numbers 0, 1, 2, ... for the different ids of a log, in the order in which they come first: the rows of a
/// table that one process holds.
class IdDictionary {
  public:
    explicit IdDictionary(std::span<const std::int64_t> ids);

    /// The log goes on with these.
    void add(std::span<const std::int64_t> ids);

    std::int64_t size() const { return static_cast<std::int64_t>(numbers_.size()); }

    /// size() for an id that the log does not have.
    std::int64_t number_of(std::int64_t id) const;

    /// Puts number_of() in the place of each.
    void translate(std::span<std::int64_t> ids) const;

  private:
    absl::flat_hash_map<std::int64_t, std::int64_t> numbers_;
};

}  // namespace dtrain::native
