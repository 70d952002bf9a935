// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "native/click_feeder.hpp"
#include "native/click_samples.hpp"

namespace dtrain::native {
namespace {

class MemoryFeeder final : public ClickFeeder {
  public:
    MemoryFeeder(std::shared_ptr<const ClickLog> log, const DistributedSampler::Options& sampling,
                 bool wants_ahead)
        : ClickFeeder(sampling, log->integers), log_(std::move(log)), wants_ahead_(wants_ahead) {}

    void feed() override {
        const auto batch = next_batch();
        log_->gather(batch.samples, dense_, ids_, click_);
        std::ranges::copy(batch.weights, weight_.begin());
    }

    std::optional<Lookup> ahead() override {
        const auto batch = wants_ahead_ ? batch_ahead() : std::nullopt;
        if (!batch) return std::nullopt;
        coming_.clear();
        for (const auto sample : batch->samples) {
            const auto ids = std::span(log_->ids).subspan(static_cast<std::size_t>(sample * log_->slots),
                                                          static_cast<std::size_t>(log_->slots));
            coming_.insert(coming_.end(), ids.begin(), ids.end());
        }
        return ahead_of(coming_);
    }

  private:
    std::shared_ptr<const ClickLog> log_;
    bool wants_ahead_;
    std::vector<std::int64_t> coming_;
};

class ClicksInMemory final : public ClickSamples {
  public:
    explicit ClicksInMemory(ClickLog log)
        : fingerprint_(log.fingerprint()), log_(std::make_shared<ClickLog>(std::move(log))) {}

    std::int64_t size() const override { return log_->size(); }
    std::int64_t integers() const override { return log_->integers; }
    std::int64_t slots() const override { return log_->slots; }
    std::uint64_t fingerprint() const override { return fingerprint_; }
    void add_ids_to(IdDictionary& dictionary) const override { dictionary.add(log_->ids); }
    void translate(std::shared_ptr<const IdDictionary> dictionary) override {
        dictionary->translate(log_->ids);
    }

    std::unique_ptr<train::Feeder> feeder(const DistributedSampler::Options& sampling,
                                          bool wants_ahead) const override {
        return std::make_unique<MemoryFeeder>(log_, sampling, wants_ahead);
    }

  private:
    std::uint64_t fingerprint_;
    std::shared_ptr<ClickLog> log_;
};

}  // namespace

std::unique_ptr<ClickSamples> samples_in_memory(ClickLog log) {
    return std::make_unique<ClicksInMemory>(std::move(log));
}

}  // namespace dtrain::native
