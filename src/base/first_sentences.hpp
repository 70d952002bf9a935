// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain {

/// "A; B; and 3 more".
/// @param sentence_of called for the first `most` items only
template <class Item, class SentenceOf>
std::string first_sentences(const std::vector<Item>& items, std::size_t most, const SentenceOf& sentence_of) {
    std::vector<std::string> sentences;
    for (const auto& item : items) {
        if (sentences.size() == most) {
            sentences.push_back(fmt::format("and {} more", items.size() - most));
            break;
        }
        sentences.push_back(sentence_of(item));
    }
    return join(sentences, "; ");
}

}  // namespace dtrain
