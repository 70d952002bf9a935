// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/rank_list.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::cluster {

RankList RankList::all() {
    RankList list;
    list.all_ = true;
    return list;
}

RankList RankList::parse(std::string_view text) {
    if (text == "all") return all();
    RankList list;
    if (text == "none") return list;
    try {
        list.listed_ = CpuSet::parse(text);
    } catch (const UsageError&) {
        list.listed_ = {};
    }
    if (list.listed_.empty())
        throw UsageError(fmt::format("\"{}\" is no list of ranks; write it like 0,2-3, all or none", text));
    return list;
}

int RankList::count_in(int size) const {
    if (all_) return size;
    const auto ranks = listed_.members();
    return static_cast<int>(std::count_if(ranks.begin(), ranks.end(), [&](int rank) { return rank < size; }));
}

std::string RankList::to_string() const {
    if (all_) return "all";
    return listed_.empty() ? "none" : listed_.to_string();
}

}  // namespace dtrain::cluster
