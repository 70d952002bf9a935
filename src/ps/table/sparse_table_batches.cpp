// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// SparseTable: work shared by several threads, and the effect of a push on rows.
#include <algorithm>
#include <exception>
#include <utility>
#include <variant>
#include <vector>

#include "ps/table/row_step.hpp"
#include "ps/table/sparse_table.hpp"

namespace dtrain::ps {
namespace {

using Left = TableTeam::Left;
using Fate = TableTeam::Fate;

/// Calls function(first, last) for each round of this number of ids.
template <class Function>
void in_rounds(std::size_t ids, const Function& function) {
    for (std::size_t first = 0; first < ids; first += TableTeam::round)
        function(first, std::min(first + TableTeam::round, ids));
}

}  // namespace

void SparseTable::insert_row(Left& left, const HashedId& id) {
    left.row = index_.add(id);
    left.fate = Fate::inserted;
    changes_.after_insert(left.row.location);
    ++counts_.inserted;
}

void SparseTable::pull_parallel(std::span<const std::int64_t> ids, std::span<float> rows) {
    const auto width = options_.width;
    const auto to = [&](std::size_t i) { return rows.subspan(i * width, width); };
    std::vector<std::int64_t> missing_ids;
    std::vector<Left*> missing;
    in_rounds(ids.size(), [&](std::size_t first, std::size_t last) {
        team_->find(first, last, [&](std::size_t begin, std::size_t end, TableTeam::DeferredRows& left) {
            index_.look_up(ids.subspan(begin, end - begin), [&](std::size_t j, const HashedId& /*id*/,
                                                                const FoundRow& row) {
                if (row.bytes != nullptr)
                    std::copy_n(RowLayout::weights_of(row.bytes), width, &rows[(begin + j) * width]);
                if (row.bytes == nullptr || is_to_be_marked(row)) left.push_back({begin + j, row});
            });
        });
        missing_ids.clear();
        missing.clear();
        team_->for_each_deferred([&](Left& left) {
            if (left.row.bytes != nullptr) return mark_day(left.row);
            missing_ids.push_back(ids[left.i]);
            missing.push_back(&left);
        });
        if (missing.empty()) return;
        std::exception_ptr failure;
        try {
            index_.look_up(missing_ids, [&](std::size_t j, const HashedId& id, const FoundRow& row) {
                auto& left = *missing[j];
                if (row.bytes != nullptr)
                    left.fate = Fate::repeated;  // inserted earlier in this round
                else if (is_admitted_by_pull(id))
                    insert_row(left, id);
                else
                    left.fate = Fate::absent;
            });
        } catch (...) {
            failure = std::current_exception();
        }
        team_->finish([&](const TableTeam::DeferredRows& ones) {
            for (const auto& left : ones) {
                if (left.fate == Fate::inserted) {
                    begin_row(ids[left.i], left.row);
                    std::copy_n(RowLayout::weights_of(left.row.bytes), width, to(left.i).begin());
                } else if (left.fate == Fate::repeated) {
                    initial_row_.write(ids[left.i], to(left.i));
                } else if (left.fate == Fate::absent) {
                    std::ranges::fill(to(left.i), 0.0F);
                }
            }
        });
        if (failure) std::rethrow_exception(failure);
    });
}

std::vector<std::size_t> SparseTable::find_together(std::span<const std::int64_t> ids,
                                                    std::span<float> rows) const {
    std::vector<std::size_t> missing;
    in_rounds(ids.size(), [&](std::size_t first, std::size_t last) {
        team_->find(first, last, [&](std::size_t begin, std::size_t end, TableTeam::DeferredRows& left) {
            index_.look_up(
                ids.subspan(begin, end - begin), [&](std::size_t j, const HashedId& id, const FoundRow& row) {
                    const auto i = begin + j;
                    if (!read_row(id, row, rows.subspan(i * options_.width, options_.width)) && spill_)
                        left.push_back({i, {}});
                });
        });
        team_->for_each_deferred([&](const Left& left) { missing.push_back(left.i); });
    });
    return missing;
}

template <class Step>
void SparseTable::push_serial(std::span<const std::int64_t> ids, const Step& step) {
    index_.look_up(ids, [&](std::size_t i, const HashedId& id, FoundRow row) {
        if (row.bytes == nullptr) {
            if (!is_admitted_by_push(id)) {
                ++counts_.dropped;
                return;
            }
            row = make_row(id);
        } else {
            before_change(row);
        }
        step(i, row.bytes, gradient_);
    });
}

template <class Step>
void SparseTable::push_together(std::span<const std::int64_t> ids, const Step& step) {
    in_rounds(ids.size(), [&](std::size_t first, std::size_t last) {
        team_->find(first, last, [&](std::size_t begin, std::size_t end, TableTeam::DeferredRows& left) {
            std::vector<float> room(options_.width);
            index_.look_up(ids.subspan(begin, end - begin),
                           [&](std::size_t j, const HashedId& /*id*/, const FoundRow& row) {
                               if (row.bytes == nullptr || changes_.is_new_to(row.location))
                                   left.push_back({begin + j, row});
                               else
                                   step(begin + j, row.bytes, room);
                           });
        });
        std::exception_ptr failure;
        try {
            team_->for_each_deferred([&](Left& left) {
                const HashedId id(ids[left.i]);
                if (left.row.bytes != nullptr)
                    before_change(left.row);
                else if (is_admitted_by_push(id))
                    insert_row(left, id);
                else
                    ++counts_.dropped;
            });
        } catch (...) {
            failure = std::current_exception();
        }
        team_->finish([&](const TableTeam::DeferredRows& ones) {
            std::vector<float> room(options_.width);
            for (std::size_t k = 0; k < ones.size(); ++k) {
                constexpr std::size_t ahead = 8;
                if (k + ahead < ones.size() && ones[k + ahead].row.bytes != nullptr)
                    index_.prefetch(ones[k + ahead].row);
                const auto& left = ones[k];
                if (left.row.bytes == nullptr) continue;
                if (left.fate == Fate::inserted) begin_row(ids[left.i], left.row);
                step(left.i, left.row.bytes, room);
            }
        });
        if (failure) std::rethrow_exception(failure);
    });
}

void SparseTable::apply(const GradientBatch& batch, const RowUpdate& update) {
    std::visit(
        [&](const auto& decay) {
            const RowStep step(layout_, batch, day_, update, decay);
            if (is_shared(batch.ids.size()))
                push_together(batch.ids, step);
            else
                push_serial(batch.ids, step);
        },
        options_.regularisation);
}

}  // namespace dtrain::ps
