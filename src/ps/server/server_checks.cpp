// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What a Server refuses, before anything of a letter is done.
#include <fmt/format.h>

#include "ps/server/server.hpp"

namespace dtrain::ps {

void Server::check_push(LetterReader reader) const {
    while (const auto section = reader.next()) {
        if (section->table == dense_parameters) {
            const auto count = section->floats(section->count).size();
            if (section->first > dense_.size() || count > dense_.size() - section->first)
                throw LetterError(fmt::format("gradients of elements {} to {} of {}", section->first,
                                              section->first + count, dense_.size()));
            continue;
        }
        if (section->table >= tables_.size())
            throw LetterError(fmt::format("table {} of {}", section->table, tables_.size()));
        const auto& batch = batches_[section->table];
        batch.check(section->floats_behind_ids(section->ids().size() * batch.row_width()));
    }
}

void Server::check_pull(LetterReader reader) const {
    while (const auto section = reader.next()) {
        if (section->table == dense_parameters) {
            if (section->first > dense_.size() || section->count > dense_.size() - section->first)
                throw LetterError(fmt::format("elements {} and {} more of {}", section->first, section->count,
                                              dense_.size()));
            continue;
        }
        if (section->table >= tables_.size())
            throw LetterError(fmt::format("table {} of {}", section->table, tables_.size()));
        section->ids();
    }
}

void Server::check_day(LetterReader reader) {
    const auto section = reader.next();
    if (!section || section->first > UINT32_MAX) throw LetterError("a 'day' without its number");
}

}  // namespace dtrain::ps
