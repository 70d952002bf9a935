// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/distinct_ids.hpp"

#include <algorithm>
#include <bit>

#include "ps/table/id_hash.hpp"

namespace dtrain::ps {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

std::size_t slots_for(std::size_t ids) {
    return std::bit_ceil(2 * ids + 1);
}

}  // namespace

std::size_t DistinctIds::slot_of(std::int64_t id, const std::int64_t* ids) const {
    const auto mask = slots_.size() - 1;
    auto slot = slot_hash(id) & mask;
    while (slots_[slot] != none && ids[slots_[slot]] != id) slot = (slot + 1) & mask;
    return slot;
}

bool DistinctIds::find_repeated(std::span<const std::int64_t> ids) {
    slots_.assign(slots_for(ids.size()), none);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto slot = slot_of(ids[i], ids.data());
        if (slots_[slot] != none) {
            begin(ids.size());
            add(ids);
            return true;
        }
        slots_[slot] = static_cast<std::uint32_t>(i);
    }
    return false;
}

void DistinctIds::begin(std::size_t max) {
    slots_.assign(slots_for(max), none);
    distinct_.clear();
    distinct_.reserve(max);
    indices_.clear();
    indices_.reserve(max);
}

bool DistinctIds::is_of(std::span<const std::int64_t> ids) const {
    if (!has_repeated()) return std::ranges::equal(ids, distinct_);
    if (ids.size() != indices_.size()) return false;
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (distinct_[indices_[i]] != ids[i]) return false;
    return true;
}

std::span<const std::int64_t> DistinctIds::add(std::span<const std::int64_t> ids) {
    const auto before = distinct_.size();
    for (const auto id : ids) {
        const auto slot = slot_of(id, distinct_.data());
        if (slots_[slot] == none) {
            slots_[slot] = static_cast<std::uint32_t>(distinct_.size());
            distinct_.push_back(id);
        }
        indices_.push_back(slots_[slot]);
    }
    return this->ids().subspan(before);
}

}  // namespace dtrain::ps
