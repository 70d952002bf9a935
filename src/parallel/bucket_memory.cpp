// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "parallel/bucket_memory.hpp"

#include <algorithm>
#include <cstring>

namespace dtrain::parallel {
namespace {

template <class T>
void divide_numbers(std::span<const T> from, int parts, std::span<T> to) {
    const auto part = T{1} / static_cast<T>(parts);
    std::ranges::transform(from, to.begin(), [part](T value) { return value * part; });
}

}  // namespace

void HostBuckets::copy(std::span<const std::byte> from, std::span<std::byte> to) {
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

void HostBuckets::set_to_zero(const ElementSpan& elements) {
    std::ranges::fill(elements.bytes(), std::byte{0});
}

void HostBuckets::divide(const ElementSpan& from, int parts, const ElementSpan& to) {
    if (from.type() == DataType::float64)
        divide_numbers<double>(from.as<double>(), parts, to.as<double>());
    else
        divide_numbers<float>(from.as<float>(), parts, to.as<float>());
}

}  // namespace dtrain::parallel
