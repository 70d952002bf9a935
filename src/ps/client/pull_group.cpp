// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/pull_group.hpp"

#include <utility>

namespace dtrain::ps {

std::size_t PullGroup::add(std::uint32_t table, BatchIds ids, bool reads_only) {
    members_.push_back({table, std::move(ids), reads_only});
    return members_.size() - 1;
}

void PullGroup::ask_all() {
    std::vector<WantedRows> wanted;
    for (auto& member : members_) {
        // Left over from an unfinished step.
        if (const auto left = std::exchange(member.asked, std::nullopt)) client_->drop_rows(*left);
        member.ids.read();
        wanted.push_back({member.table, member.ids.ids(), member.reads_only});
    }
    auto asked = client_->ask_rows(wanted);
    for (std::size_t i = 0; i < members_.size(); ++i) members_[i].asked = std::move(asked[i]);
}

void PullGroup::take(std::size_t number, std::span<float> out) {
    auto& member = members_[number];
    if (!member.asked) ask_all();
    const auto asked = std::exchange(member.asked, std::nullopt);
    const auto& ids = member.ids;
    if (ids.is_whole()) return client_->take_rows(*asked, out);
    rows_.resize(ids.ids().size() * client_->width(member.table));
    client_->take_rows(*asked, rows_);
    ids.spread(rows_, out);
}

}  // namespace dtrain::ps
