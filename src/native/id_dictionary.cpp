// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/id_dictionary.hpp"

namespace dtrain::native {

IdDictionary::IdDictionary(std::span<const std::int64_t> ids) {
    add(ids);
}

void IdDictionary::add(std::span<const std::int64_t> ids) {
    for (const auto id : ids) numbers_.try_emplace(id, size());
}

std::int64_t IdDictionary::number_of(std::int64_t id) const {
    const auto found = numbers_.find(id);
    return found == numbers_.end() ? size() : found->second;
}

void IdDictionary::translate(std::span<std::int64_t> ids) const {
    for (auto& id : ids) id = number_of(id);
}

}  // namespace dtrain::native
