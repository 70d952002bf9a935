// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "data/disk_dataset.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "storage/hash.hpp"

namespace dtrain::data {
namespace {

constexpr std::int64_t block_without_chunks = 1 << 20;  // block size in bytes if the file is not chunked
constexpr std::int64_t fingerprint_samples = 64;

}  // namespace

DiskDataset::DiskDataset(Hdf5Samples samples, std::int64_t memory)
    : samples_(std::move(samples)), classes_(std::ranges::max(samples_.labels) + 1) {
    const auto row_bytes = samples_.features * static_cast<std::int64_t>(sizeof(float));
    const auto rows = std::max<std::int64_t>(2, memory / row_bytes);
    const auto chunk = samples_.file.chunk_rows(samples_.source.x);
    const auto wanted = chunk > 0 ? chunk : std::max<std::int64_t>(1, block_without_chunks / row_bytes);
    block_rows_ = std::min({wanted, rows / 2, samples_.count});
    lookahead_ = std::min(rows - block_rows_, samples_.count);
    block_.resize(static_cast<std::size_t>(block_rows_ * samples_.features));
}

std::span<float> DiskDataset::row(std::span<float> rows, std::int64_t number) const {
    return rows.subspan(static_cast<std::size_t>(number * samples_.features),
                        static_cast<std::size_t>(samples_.features));
}

void DiskDataset::read(std::int64_t first, std::int64_t count, std::span<float> x) const {
    const auto& source = samples_.source;
    samples_.file.read_rows(source.x, first, count, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] *= source.scale;
        if (!std::isfinite(x[i]))
            throw UsageError(fmt::format(
                "{}: dataset '{}' has a value that is not finite as float32, in sample {}",
                source.file.string(), source.x, first + static_cast<std::int64_t>(i) / samples_.features));
    }
}

void DiskDataset::expect(std::span<const std::int64_t> samples) const {
    const std::scoped_lock one_at_a_time(mutex_);
    expected_.assign(samples.begin(), samples.end());
    given_ = 0;
    window_.resize(samples.size() * static_cast<std::size_t>(samples_.features));
    read_blocks(expected_, window_);
}

void DiskDataset::read_blocks(std::span<const std::int64_t> samples, std::span<float> x) const {
    order_.resize(samples.size());
    std::iota(order_.begin(), order_.end(), 0);
    const auto sample_of = [&](std::int64_t number) { return samples[static_cast<std::size_t>(number)]; };
    std::ranges::sort(order_, {}, sample_of);
    for (auto begin = order_.begin(); begin != order_.end();) {
        const auto block = sample_of(*begin) / block_rows_;
        const auto end = std::find_if(begin, order_.end(), [&](std::int64_t number) {
            return sample_of(number) / block_rows_ != block;
        });
        const auto first = sample_of(*begin);
        const auto count = sample_of(*std::prev(end)) - first + 1;
        const auto rows = std::span(block_).first(static_cast<std::size_t>(count * samples_.features));
        read(first, count, rows);
        for (; begin != end; ++begin)
            std::ranges::copy(row(rows, sample_of(*begin) - first), row(x, *begin).begin());
    }
}

void DiskDataset::gather(std::span<const std::int64_t> samples, std::span<float> x,
                         std::span<std::int64_t> labels) const {
    if (x.size() != samples.size() * static_cast<std::size_t>(samples_.features) ||
        labels.size() != samples.size())
        throw Error(
            fmt::format("a batch of {} samples of {} values does not fit buffers of {} values and {} labels",
                        samples.size(), samples_.features, x.size(), labels.size()));
    const std::scoped_lock one_at_a_time(mutex_);
    const auto coming = std::span<const std::int64_t>(expected_).subspan(given_);
    if (coming.size() >= samples.size() && std::ranges::equal(coming.first(samples.size()), samples)) {
        const auto rows = std::span<const float>(window_).subspan(
            given_ * static_cast<std::size_t>(samples_.features), x.size());
        std::ranges::copy(rows, x.begin());
        given_ += samples.size();
    } else {
        read_blocks(samples, x);
    }
    for (std::size_t i = 0; i < samples.size(); ++i)
        labels[i] = samples_.labels[static_cast<std::size_t>(samples[i])];
}

std::uint64_t DiskDataset::fingerprint() const {
    storage::Hash hash;
    hash.add(static_cast<std::uint64_t>(samples_.features));
    hash.add(std::span<const std::int64_t>(samples_.labels));
    std::vector<float> x(static_cast<std::size_t>(samples_.features));
    const auto count = std::min(samples_.count, fingerprint_samples);
    for (std::int64_t i = 0; i < count; ++i) {
        read(samples_.count / count * i, 1, x);
        hash.add(std::span<const float>(x));
    }
    return hash.value();
}

}  // namespace dtrain::data
