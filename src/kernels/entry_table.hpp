// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <vector>

namespace dtrain::kernels {

/// The operators of several lists, found by type.
template <class Entry>
class EntryTable {
  public:
    EntryTable(std::initializer_list<std::vector<Entry>> lists) {
        for (const auto& list : lists) std::ranges::copy(list, std::back_inserter(sorted_));
        std::ranges::sort(sorted_, {}, &Entry::type);
    }

    const std::vector<Entry>& sorted() const { return sorted_; }

    /// Null if there is none.
    const Entry* find(std::string_view type) const {
        const auto at = std::ranges::lower_bound(sorted_, type, {}, &Entry::type);
        return at == sorted_.end() || at->type != type ? nullptr : &*at;
    }

  private:
    std::vector<Entry> sorted_;
};

}  // namespace dtrain::kernels
