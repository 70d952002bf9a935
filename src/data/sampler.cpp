// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include <dtrain/error.hpp>
#include <dtrain/sampler.hpp>

#include "base/checksum.hpp"

namespace dtrain {
namespace {

class SplitMix64 {
  public:
    explicit SplitMix64(std::uint64_t state) : state_(state) {}

    std::uint64_t next() {
        state_ += splitmix_step;
        return splitmix_output(state_);
    }

    /// Uniformly distributed in 0..bound-1, by rejecting numbers from the incomplete last interval.
    std::uint64_t below(std::uint64_t bound) {
        const auto unfair = (0 - bound) % bound;
        for (;;)
            if (const auto number = next(); number >= unfair) return number % bound;
    }

  private:
    std::uint64_t state_;
};

SplitMix64 random_of(std::uint64_t seed, std::int64_t epoch) {
    const auto key_of_seed = SplitMix64(seed).next();
    return SplitMix64(SplitMix64(key_of_seed ^ static_cast<std::uint64_t>(epoch)).next());
}

template <class Number>
void permute(std::vector<Number>& order, std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
    order.resize(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), Number{0});
    auto random = random_of(seed, epoch);
    for (auto i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

}  // namespace

std::vector<std::int64_t> shuffled_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
    std::vector<std::int64_t> order;
    permute(order, count, seed, epoch);
    return order;
}

DistributedSampler::DistributedSampler(const Options& options) : options_(options) {
    if (options.samples < 1) throw UsageError("a data set without samples cannot be dealt to ranks");
    if (options.global_batch < 1)
        throw UsageError("global batch " + std::to_string(options.global_batch) + ": it must be 1 or more");
    if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks || options.parts < 1 ||
        options.parts > options.ranks - options.rank)
        throw UsageError("rank " + std::to_string(options.rank) + " of " + std::to_string(options.ranks) +
                         " ranks: it must be in 0.." + std::to_string(options.ranks - 1));
    steps_ = (options.samples - 1) / options.global_batch + 1;
    if (options.last_batch == LastBatch::drop) steps_ = options.samples / options.global_batch;
    if (steps_ == 0)
        throw UsageError(std::to_string(options.samples) + " samples are fewer than a global batch of " +
                         std::to_string(options.global_batch) +
                         ", so that dropping the last batch leaves none");
    if (options.last_batch == LastBatch::uneven &&
        (options.global_batch % options.ranks != 0 || options.parts != 1))
        throw UsageError("global batch " + std::to_string(options.global_batch) +
                         ": batches that may be uneven need a multiple of the ranks, which are " +
                         std::to_string(options.ranks) + ", and one part for each");
    local_batch_ = (options.global_batch - 1) / options.ranks + 1;
    batch_samples_.resize(static_cast<std::size_t>(local_batch_));
    batch_weights_.resize(static_cast<std::size_t>(local_batch_));
}

std::int64_t DistributedSampler::real_samples() const {
    return std::min(options_.samples, steps_ * options_.global_batch);
}

std::int64_t DistributedSampler::last_batch() const {
    if (options_.last_batch != LastBatch::uneven) return local_batch_;
    const auto left = options_.samples - (steps_ - 1) * options_.global_batch;
    return std::clamp<std::int64_t>(left - options_.rank * local_batch_, 0, local_batch_);
}

std::int64_t DistributedSampler::batches() const {
    return steps_ * options_.parts - (last_batch() == 0 ? 1 : 0);
}

std::int64_t DistributedSampler::padding_sample(std::int64_t position) const {
    if (options_.last_batch != LastBatch::random) return sample_at(position % options_.samples);
    auto random = random_of(options_.seed, epoch_);
    random = SplitMix64(random.next() ^ static_cast<std::uint64_t>(position));
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(options_.samples)));
}

std::int64_t DistributedSampler::sample_at(std::int64_t position) const {
    if (options_.order == SampleOrder::sequential) return position;
    const auto at = static_cast<std::size_t>(position);
    return order_.empty() ? long_order_[at] : std::int64_t{order_[at]};
}

void DistributedSampler::start_epoch(std::int64_t epoch) {
    epoch_ = epoch;
    if (options_.order == SampleOrder::sequential) return;
    if (options_.samples - 1 <= std::numeric_limits<std::uint32_t>::max())
        permute(order_, options_.samples, options_.seed, epoch);
    else
        permute(long_order_, options_.samples, options_.seed, epoch);
}

LocalBatch DistributedSampler::batch(std::int64_t number) {
    if (number < 0 || number >= batches())
        throw Error("batch " + std::to_string(number) + " of an epoch of " + std::to_string(batches()));
    if (order_.empty() && long_order_.empty()) start_epoch(epoch_);
    const auto step = number / options_.parts;
    const auto rank = options_.rank + number % options_.parts;
    const auto slots = step + 1 == steps_ ? last_batch() : local_batch_;
    LocalBatch out{std::span(batch_samples_).first(static_cast<std::size_t>(slots)),
                   std::span(batch_weights_).first(static_cast<std::size_t>(slots)), 0};
    for (std::int64_t slot = 0; slot < slots; ++slot) {
        const auto in_batch = rank * local_batch_ + slot;
        const auto position = step * options_.global_batch + in_batch;
        const bool real = in_batch < options_.global_batch && position < options_.samples;
        const auto at = static_cast<std::size_t>(slot);
        batch_samples_[at] = real ? sample_at(position) : padding_sample(position);
        batch_weights_[at] = real ? 1.0F : 0.0F;
        out.real += real ? 1 : 0;
    }
    return out;
}

}  // namespace dtrain
