// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "data/click_batches.hpp"
#include "native/click_feeder.hpp"
#include "native/click_samples.hpp"

namespace dtrain::native {
namespace {

/// Returns the result of `read`. A cache in which it finds damage is deleted, so that the next start
/// recreates it.
template <class Read>
auto read_or_remove(const Read& read) {
    try {
        return read();
    } catch (const data::DamagedCache& damaged) {
        std::error_code ignored;
        std::filesystem::remove(damaged.file(), ignored);
        throw Error(fmt::format("{}; this cache is removed now, and made anew when the job starts again",
                                damaged.what()));
    }
}

class CacheFeeder final : public ClickFeeder {
  public:
    CacheFeeder(const std::shared_ptr<const data::ClickCacheFile>& cache,
                const DistributedSampler::Options& sampling, std::int64_t memory,
                const std::shared_ptr<const IdDictionary>& dictionary, bool wants_ahead)
        : ClickFeeder(sampling, cache->info().integers),
          wants_ahead_(wants_ahead),
          batches_(cache, sampling, memory, translation_by(dictionary)) {}

    void start(std::int64_t epoch, std::int64_t first_step) override {
        batches_.start(epoch, first_step * parts());
    }

    void feed() override {
        const auto batch = read_or_remove([&] { return batches_.next(); });
        std::ranges::copy(batch.dense, dense_.begin());
        std::ranges::copy(batch.ids, ids_.begin());
        std::ranges::copy(batch.labels, click_.begin());
        std::ranges::copy(batch.weights, weight_.begin());
    }

    std::optional<Lookup> ahead() override {
        if (!wants_ahead_) return std::nullopt;
        const auto batch = read_or_remove([&] { return batches_.await_next(); });
        return batch ? std::optional(ahead_of(batch->ids)) : std::nullopt;
    }

  private:
    static data::ClickBatches::Translate translation_by(
        const std::shared_ptr<const IdDictionary>& dictionary) {
        if (!dictionary) return {};
        return [dictionary](std::span<std::int64_t> ids) { dictionary->translate(ids); };
    }

    bool wants_ahead_;
    data::ClickBatches batches_;
};

class ClicksInCache final : public ClickSamples {
  public:
    ClicksInCache(data::ClickCacheFile cache, std::int64_t memory)
        : cache_(std::make_shared<const data::ClickCacheFile>(std::move(cache))), memory_(memory) {}

    std::int64_t size() const override { return cache_->info().samples; }
    std::int64_t integers() const override { return cache_->info().integers; }
    std::int64_t slots() const override { return cache_->info().slots; }
    std::uint64_t fingerprint() const override { return cache_->info().fingerprint; }

    void add_ids_to(IdDictionary& dictionary) const override {
        read_or_remove([&] {
            data::ClickBlock block;
            for (std::int64_t i = 0; i < cache_->blocks(); ++i) {
                cache_->read(i, block);
                dictionary.add(block.ids());
            }
        });
    }
    void translate(std::shared_ptr<const IdDictionary> dictionary) override {
        dictionary_ = std::move(dictionary);
    }

    std::unique_ptr<train::Feeder> feeder(const DistributedSampler::Options& sampling,
                                          bool wants_ahead) const override {
        return std::make_unique<CacheFeeder>(cache_, sampling, memory_, dictionary_, wants_ahead);
    }

  private:
    std::shared_ptr<const data::ClickCacheFile> cache_;
    std::int64_t memory_;
    std::shared_ptr<const IdDictionary> dictionary_;
};

}  // namespace

std::unique_ptr<ClickSamples> samples_in_cache(data::ClickCacheFile cache, std::int64_t memory) {
    return std::make_unique<ClicksInCache>(std::move(cache), memory);
}

}  // namespace dtrain::native
