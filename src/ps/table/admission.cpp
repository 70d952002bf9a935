// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/admission.hpp"

#include <algorithm>

namespace dtrain::ps {

// The upper 32 bits select the line, the lower 24 the counters in it.
std::size_t TouchCounters::line_of(std::uint64_t hash) const {
    const auto lines = cells_.size() / line;
    return static_cast<std::size_t>((hash >> 32U) * lines >> 32U) * line;
}

unsigned TouchCounters::touch(std::uint64_t hash) {
    constexpr unsigned cells = 4;
    constexpr unsigned bits = 6;
    auto* const first = &cells_[line_of(hash)];
    std::array<std::uint8_t*, cells> own;
    for (unsigned i = 0; i < cells; ++i) own[i] = first + ((hash >> (bits * i)) % line);
    const auto min = **std::ranges::min_element(own, {}, [](const auto* cell) { return *cell; });
    if (min == UINT8_MAX) return min;
    for (auto* cell : own)
        if (*cell == min) ++*cell;
    return min + 1U;
}

void TouchCounters::halve() {
    for (auto& cell : cells_) cell /= 2;
}

unsigned TouchCounters::Trial::touch(std::uint64_t hash) {
    Line saved{counters_.line_of(hash), {}};
    std::copy_n(&counters_.cells_[saved.first], line, saved.cells.begin());
    before_.push_back(saved);
    return counters_.touch(hash);
}

TouchCounters::Trial::~Trial() {
    for (auto saved = before_.rbegin(); saved != before_.rend(); ++saved)
        std::ranges::copy(saved->cells, counters_.cells_.begin() + static_cast<std::ptrdiff_t>(saved->first));
}

bool is_chosen(std::uint64_t hash, double probability) {
    return static_cast<double>(hash >> 11U) * 0x1p-53 < probability;
}

}  // namespace dtrain::ps
