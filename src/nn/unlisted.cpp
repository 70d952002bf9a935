// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "nn/unlisted.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::eager {
namespace {

constexpr std::size_t max_named = 4;

using Reached = std::map<const Leaf*, std::weak_ptr<Leaf>>;

// Never destroyed: tensors may live until the very end of the process.
Reached& reached() {
    static auto& of_process = *new Reached;
    return of_process;
}

}  // namespace

void note_reached(const std::shared_ptr<Leaf>& leaf) {
    if (!leaf->is_listed) reached().insert_or_assign(leaf.get(), leaf);
}

std::string unlisted_line() {
    std::vector<std::string> names;
    for (const auto& [address, weak] : reached()) {
        const auto leaf = weak.lock();
        if (!leaf || leaf->is_listed) continue;
        leaf->is_listed = true;
        names.push_back(fmt::format("'{}'", leaf->name));
    }
    reached().clear();
    if (names.empty()) return "";
    std::ranges::sort(names);
    const auto shown = std::min(names.size(), max_named);
    const auto more = names.size() - shown;
    return fmt::format(
        "{}{} computed, and no parameters() and no optimizer has {}: {} never trained. Make the layers of a "
        "network by add(): C++ does not find plain members",
        join(std::span(names).first(shown), ", "), more > 0 ? fmt::format(" and {} more", more) : "",
        names.size() == 1 ? "it" : "them", names.size() == 1 ? "it is" : "they are");
}

}  // namespace dtrain::eager
