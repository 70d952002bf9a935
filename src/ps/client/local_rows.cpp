// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/local_rows.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "kernels/loops/loops.hpp"
#include "ps/table/regularised_gradient.hpp"
#include "ps/table/row_update.hpp"

namespace dtrain::ps {
namespace {

constexpr std::size_t id_bytes = sizeof(std::int64_t);
// One arena is far larger than what a trainer holds.
constexpr std::size_t arenas = 1;

std::size_t row_bytes(std::size_t header, std::size_t width, const Optimizer& optimizer) {
    return id_bytes + header + sizeof(float) * width * (2 + states_of(optimizer));
}

}  // namespace

LocalRows::LocalRows(std::size_t width, Optimizer optimizer, Regularisation regularisation)
    : width_(width),
      optimizer_(std::move(optimizer)),
      regularisation_(regularisation),
      index_(row_bytes(sizeof(Header), width, optimizer_), arenas),
      decayed_(width) {}

LocalRows::Parts LocalRows::parts_of(std::byte* row) const {
    auto* const header = reinterpret_cast<Header*>(row + id_bytes);
    auto* const weights = reinterpret_cast<float*>(row + id_bytes + sizeof(Header));
    return {header, weights, weights + width_, weights + 2 * width_};
}

std::byte* LocalRows::make(const HashedId& id) {
    auto* const row = index_.add(id).bytes;
    const auto [header, weights, base, state] = parts_of(row);
    *header = {};
    std::fill_n(weights, 2 * width_, 0.0F);
    std::fill_n(state, width_ * states_of(optimizer_), initial_state(optimizer_));
    return row;
}

LocalRows::Rows LocalRows::find(std::span<const std::int64_t> ids) {
    for (const auto& batch : batches_)
        if (std::ranges::equal(batch.ids, ids)) return batch.rows;
    auto& batch = batches_[oldest_batch_++ % batches_.size()];
    batch.ids.assign(ids.begin(), ids.end());
    batch.rows.resize(ids.size());
    index_.look_up(ids, [&](std::size_t i, const HashedId& id, const FoundRow& row) {
        batch.rows[i] = row.bytes != nullptr ? row.bytes : make(id);
    });
    return batch.rows;
}

std::vector<std::byte*> LocalRows::ask(Rows rows) {
    std::vector<std::byte*> asked;
    for (auto* const row : rows) {
        auto& requested_in = parts_of(row).header->requested_in;
        if (requested_in == period_ || (keeps_all_ && requested_in != 0)) continue;
        requested_in = period_;
        asked.push_back(row);
    }
    return asked;
}

std::vector<std::int64_t> LocalRows::ids_of(Rows rows) {
    std::vector<std::int64_t> ids(rows.size());
    std::ranges::transform(rows, ids.begin(), RowArena::id_of);
    return ids;
}

void LocalRows::renew(Rows rows, std::span<const float> values) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto [header, weights, base, state] = parts_of(rows[i]);
        for (std::size_t j = 0; j < width_; ++j) {
            const auto value = values[i * width_ + j];
            weights[j] = header->changed == 0 ? value : weights[j] + (value - base[j]);
            base[j] = value;
        }
    }
}

void LocalRows::read(Rows rows, std::span<float> out) const {
    for (std::size_t i = 0; i < rows.size(); ++i)
        std::copy_n(parts_of(rows[i]).weights, width_, &out[i * width_]);
}

void LocalRows::add_gradients(Rows rows, std::span<const float> gradients) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto* const from = &gradients[i * width_];
        auto& position = parts_of(rows[i]).header->position;
        if (position != 0) {
            kernels::loops::add(from, &step_gradients_[(position - 1) * width_], width_);
            continue;
        }
        step_rows_.push_back(rows[i]);
        step_gradients_.insert(step_gradients_.end(), from, from + width_);
        position = static_cast<std::uint32_t>(step_rows_.size());
    }
}

void LocalRows::update(double learning_rate, std::int64_t step) {
    const RowUpdate rule(optimizer_, learning_rate, step);
    const auto apply = [&](const auto& decay) {
        for (std::size_t i = 0; i < step_rows_.size(); ++i) {
            const auto [header, weights, base, state] = parts_of(step_rows_[i]);
            rule(weights, state, regularised(decay, &step_gradients_[i * width_], weights, decayed_), width_);
            header->position = 0;
            if (std::exchange(header->changed, 1) == 0) changed_.push_back(step_rows_[i]);
        }
    };
    std::visit(apply, regularisation_);
    step_rows_.clear();
    step_gradients_.clear();
}

std::size_t LocalRows::state_width() const {
    return width_ * states_of(optimizer_);
}

LocalRows::States LocalRows::states() const {
    States all;
    all.ids.reserve(size());
    all.values.reserve(size() * state_width());
    index_.for_each([&](const FoundRow& row) {
        const auto* const state = parts_of(row.bytes).state;
        all.ids.push_back(RowArena::id_of(row.bytes));
        all.values.insert(all.values.end(), state, state + state_width());
    });
    return all;
}

void LocalRows::restore(const States& states) {
    if (states.values.size() != states.ids.size() * state_width())
        throw UsageError(fmt::format("{} numbers of the optimizer for {} rows, expected {} for each",
                                     states.values.size(), states.ids.size(), state_width()));
    for (std::size_t i = 0; i < states.ids.size(); ++i) {
        const HashedId id(states.ids[i]);
        if (index_.find(id).bytes != nullptr)
            throw UsageError(fmt::format("the row of id {} is there twice", id.id));
        std::ranges::copy(std::span(states.values).subspan(i * state_width(), state_width()),
                          parts_of(make(id)).state);
    }
}

double LocalRows::learning_rate() const {
    return learning_rate_of(optimizer_);
}

std::vector<std::byte*> LocalRows::take_changes(float fraction, std::vector<float>& changes) {
    ++period_;
    changes.resize(changed_.size() * width_);
    for (std::size_t i = 0; i < changed_.size(); ++i) {
        const auto [header, weights, base, state] = parts_of(changed_[i]);
        for (std::size_t j = 0; j < width_; ++j) changes[i * width_ + j] = fraction * (base[j] - weights[j]);
        std::copy_n(weights, width_, base);
        header->changed = 0;
        header->requested_in = period_;
    }
    return std::exchange(changed_, {});
}

}  // namespace dtrain::ps
