// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/clock_hand.hpp"

namespace dtrain::ps {

std::vector<RowLocation> ClockHand::pick(std::uint64_t count, std::span<const RowArena> arenas) {
    std::vector<RowLocation> picked;
    std::uint64_t steps = 0;
    for (const auto& arena : arenas) steps += 2 * arena.numbers();
    for (; steps > 0 && picked.size() < count; --steps, ++at_.number) {
        while (at_.number >= arenas[at_.arena].numbers())
            at_ = {static_cast<std::uint32_t>((at_.arena + 1) % arenas.size()), 0};
        auto& used = used_[at_.arena];
        if (!arenas[at_.arena].is_in_use(at_.number)) continue;
        if (used.contains(at_.number)) {
            used.erase(at_.number);
        } else {
            picked.push_back(at_);
            used.insert(at_.number);  // not to be picked again if the hand goes full circle
        }
    }
    for (const auto& location : picked) used_[location.arena].erase(location.number);
    return picked;
}

std::size_t ClockHand::bytes() const {
    std::size_t bytes = 0;
    for (const auto& set : used_) bytes += sizeof(set) + set.bytes();
    return bytes;
}

}  // namespace dtrain::ps
