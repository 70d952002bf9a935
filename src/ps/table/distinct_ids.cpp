// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/distinct_ids.hpp"

#include <bit>

#include "ps/table/id_hash.hpp"

namespace dtrain::ps {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

}  // namespace

std::size_t DistinctIds::slot_of(std::int64_t id, std::span<const std::int64_t> ids) const {
    const auto mask = slots_.size() - 1;
    auto slot = slot_hash(id) & mask;
    while (slots_[slot] != none && ids[slots_[slot]] != id) slot = (slot + 1) & mask;
    return slot;
}

bool DistinctIds::find_repeated(std::span<const std::int64_t> ids) {
    slots_.assign(std::bit_ceil(2 * ids.size() + 1), none);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto slot = slot_of(ids[i], ids);
        if (slots_[slot] != none) {
            list_distinct(ids);
            return true;
        }
        slots_[slot] = static_cast<std::uint32_t>(i);
    }
    return false;
}

void DistinctIds::list_distinct(std::span<const std::int64_t> ids) {
    slots_.assign(slots_.size(), none);
    distinct_.clear();
    places_.clear();
    for (const auto id : ids) {
        const auto slot = slot_of(id, distinct_);
        if (slots_[slot] == none) {
            slots_[slot] = static_cast<std::uint32_t>(distinct_.size());
            distinct_.push_back(id);
        }
        places_.push_back(slots_[slot]);
    }
}

}  // namespace dtrain::ps
