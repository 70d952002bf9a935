// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/sparse_table.hpp"

#include <absl/container/flat_hash_set.h>
#include <algorithm>
#include <cstring>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/initial_value.hpp"
#include "kernels/functors/optimizer_info.hpp"
#include "ps/table/row_update.hpp"

namespace dtrain::ps {
namespace {

// Makes admission independent of the rows' initial values.
constexpr std::uint64_t admission_salt = 0x9216d5d98979fb1bU;

std::size_t memory_of_this_machine() {
    return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Enough arenas that memory full of rows uses at most half of the row numbers.
std::size_t arenas_for(std::size_t row_bytes, std::size_t memory) {
    return memory / row_bytes / (RowArena::max_rows / 2) + 1;
}

TableOptions checked(TableOptions options) {
    check(options);
    options.optimizer = kernels::optimizer_for(options.optimizer, options.name);
    return options;
}

}  // namespace

SparseTable::SparseTable(TableOptions options, const std::optional<SpillOptions>& spill)
    : options_(checked(std::move(options))),
      layout_(options_),
      initial_row_(options_.initializer, options_.seed, options_.name),
      admission_key_(initial_key(options_.seed ^ admission_salt, options_.name)),
      initial_state_(initial_state(options_.optimizer)),
      index_(layout_.row_bytes(), options_.arenas != 0
                                      ? options_.arenas
                                      : arenas_for(layout_.row_bytes(), memory_of_this_machine())),
      changes_(index_.arenas().size()),
      merge_(options_.width),
      gradient_(options_.width) {
    if (const auto* by_count = std::get_if<AdmitByCount>(&options_.admission))
        touches_.emplace(by_count->counters);
    if (spill)
        spill_ =
            std::make_unique<Spill>(*spill, options_.name, hot(), sizeof(*this) + touch_counters().size());
}

std::size_t SparseTable::bytes() const {
    return sizeof(*this) + index_.bytes() + changes_.bytes() + touch_counters().size() +
           (spill_ ? spill_->bytes() : 0);
}

bool SparseTable::is_to_be_marked(const FoundRow& row) const {
    return options_.statistics && layout_.statistics_of(row.bytes).last_day != day_;
}

void SparseTable::mark_day(const FoundRow& row) {
    if (!is_to_be_marked(row)) return;
    before_change(row);
    auto statistics = layout_.statistics_of(row.bytes);
    statistics.last_day = day_;
    layout_.set_statistics(row.bytes, statistics);
}

void SparseTable::check_sizes(std::size_t ids, std::size_t floats) const {
    if (floats != ids * options_.width)
        throw UsageError(fmt::format("table '{}': {} floats came with {} ids, expected {} for each",
                                     options_.name, floats, ids, options_.width));
}

FoundRow SparseTable::make_row(const HashedId& id) {
    const auto row = index_.add(id);
    begin_row(id.id, row);
    changes_.after_insert(row.location);
    ++counts_.inserted;
    return row;
}

void SparseTable::begin_row(std::int64_t id, const FoundRow& row) const {
    auto* weights = RowLayout::weights_of(row.bytes);
    initial_row_.write(id, {weights, options_.width});
    std::fill_n(weights + options_.width, state_width(), initial_state_);
    if (options_.statistics) layout_.set_statistics(row.bytes, {0, 0, day_});
}

bool SparseTable::is_admitted_by_pull(const HashedId& id) {
    if (touches_)
        return touches_->touch(id.hash) >=
               static_cast<unsigned>(std::get<AdmitByCount>(options_.admission).count);
    return is_admitted_by_push(id);
}

bool SparseTable::is_admitted_by_push(const HashedId& id) const {
    if (const auto* by_probability = std::get_if<AdmitByProbability>(&options_.admission))
        return is_chosen(mixed(admission_key_ ^ slot_hash(id.id)), by_probability->probability);
    return !touches_;
}

void SparseTable::check_room(std::span<const std::int64_t> ids,
                             const std::function<bool(const HashedId&)>& is_admitted) const {
    if (!options_.dict_size || size() + ids.size() <= *options_.dict_size) return;
    absl::flat_hash_set<std::int64_t> inserted;
    index_.look_up(ids, [&](std::size_t /*i*/, const HashedId& id, const FoundRow& row) {
        if (row.bytes != nullptr || inserted.contains(id.id) || !is_admitted(id)) return;
        if (size() + inserted.size() >= *options_.dict_size)
            throw DictSizeError(options_.name, *options_.dict_size, id.id);
        inserted.insert(id.id);
    });
}

void SparseTable::pull(std::span<const std::int64_t> ids, std::span<float> rows) {
    check_sizes(ids.size(), rows.size());
    if (spill_) spill_->bring_back(ids, hot());
    if (touches_) {
        const auto count = static_cast<unsigned>(std::get<AdmitByCount>(options_.admission).count);
        TouchCounters::Trial trial(*touches_);
        check_room(ids, [&](const HashedId& id) { return trial.touch(id.hash) >= count; });
    } else {
        check_room(ids, [&](const HashedId& id) { return is_admitted_by_push(id); });
    }
    if (is_shared(ids.size())) return pull_parallel(ids, rows);
    const auto width = options_.width;
    index_.look_up(ids, [&](std::size_t i, const HashedId& id, FoundRow row) {
        auto* out = &rows[i * width];
        if (row.bytes == nullptr) {
            if (!is_admitted_by_pull(id)) {
                std::fill_n(out, width, 0.0F);
                return;
            }
            row = make_row(id);
        } else if (options_.statistics) {
            mark_day(row);
        }
        std::copy_n(RowLayout::weights_of(row.bytes), width, out);
    });
}

bool SparseTable::read_row(const HashedId& id, const FoundRow& row, std::span<float> out) const {
    if (row.bytes != nullptr)
        std::copy_n(RowLayout::weights_of(row.bytes), out.size(), out.begin());
    else if (std::holds_alternative<AdmitAll>(options_.admission))
        initial_row_.write(id.id, out);
    else
        std::ranges::fill(out, 0.0F);
    return row.bytes != nullptr;
}

void SparseTable::find(std::span<const std::int64_t> ids, std::span<float> rows) const {
    check_sizes(ids.size(), rows.size());
    const auto width = options_.width;
    std::vector<std::size_t> missing;
    if (is_shared(ids.size()))
        missing = find_together(ids, rows);
    else
        index_.look_up(ids, [&](std::size_t i, const HashedId& id, const FoundRow& row) {
            if (!read_row(id, row, rows.subspan(i * width, width)) && spill_) missing.push_back(i);
        });
    if (!spill_ || missing.empty()) return;
    spill_->read(ids, missing, [&](std::size_t i, const std::byte* row) {
        std::ranges::copy(layout_.read(row).weights, &rows[i * width]);
    });
}

void SparseTable::check_part(const GradientBatch& part, bool has_statistics) const {
    check_sizes(part.ids.size(), part.gradients.size());
    for (const auto statistics : {part.shows, part.clicks})
        if (statistics.size() != (has_statistics ? part.ids.size() : 0))
            throw UsageError(fmt::format("table '{}': {} shows and {} clicks came with {} ids", options_.name,
                                         part.shows.size(), part.clicks.size(), part.ids.size()));
}

void SparseTable::push(GradientParts parts, const UpdateTime& time, bool has_each_id_once) {
    const bool has_statistics =
        std::ranges::any_of(parts, [](const GradientBatch& part) { return !part.shows.empty(); });
    for (const auto& part : parts) check_part(part, has_statistics);
    if (time.step < 1)
        throw UsageError(
            fmt::format("table '{}': a push is for step {}; steps begin with 1", options_.name, time.step));
    const auto rejected = counts_.rejected;
    // Sums of finite gradients can overflow.
    const auto finite = [&](GradientParts of) {
        return options_.reject_not_finite ? merge_.without_not_finite(of, counts_.rejected) : of;
    };
    // Several threads would create two rows for an id that occurs twice.
    const bool checks_for_repeated = !has_each_id_once || is_shared(ids_of(parts));
    auto whole = finite(parts);
    if (checks_for_repeated) whole = finite(merge_.merged(whole, team_));
    try {
        make_room_for(whole);
    } catch (...) {
        counts_.rejected = rejected;
        throw;
    }
    const auto rate = time.learning_rate.value_or(learning_rate_of(options_.optimizer));
    const RowUpdate update(options_.optimizer, rate, time.step);
    for (const auto& part : whole) apply(part, update);
}

void SparseTable::make_room_for(GradientParts parts) {
    if (!spill_ && !options_.dict_size) return;
    auto ids = parts.empty() ? std::span<const std::int64_t>() : parts[0].ids;
    if (parts.size() > 1) {
        pushed_ids_.clear();
        for (const auto& part : parts)
            pushed_ids_.insert(pushed_ids_.end(), part.ids.begin(), part.ids.end());
        ids = pushed_ids_;
    }
    if (spill_) spill_->bring_back(ids, hot());
    check_room(ids, [&](const HashedId& id) { return is_admitted_by_push(id); });
}

std::span<std::uint8_t> SparseTable::touch_counters() {
    return touches_ ? touches_->cells() : std::span<std::uint8_t>();
}

std::span<const std::uint8_t> SparseTable::touch_counters() const {
    return touches_ ? std::as_const(*touches_).cells() : std::span<const std::uint8_t>();
}

}  // namespace dtrain::ps
