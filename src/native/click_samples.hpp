// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <dtrain/click_log.hpp>

#include "data/click_cache_file.hpp"
#include "native/id_dictionary.hpp"
#include "train/feeder.hpp"

namespace dtrain::native {

/// The samples of a click log, in memory or in a cache file.
class ClickSamples {
  public:
    ClickSamples() = default;
    ClickSamples(const ClickSamples&) = delete;
    ClickSamples& operator=(const ClickSamples&) = delete;
    virtual ~ClickSamples() = default;

    virtual std::int64_t size() const = 0;
    virtual std::int64_t integers() const = 0;
    virtual std::int64_t slots() const = 0;
    /// ClickLog::fingerprint() of the log when it was read.
    virtual std::uint64_t fingerprint() const = 0;

    /// Adds all ids, in log order.
    virtual void add_ids_to(IdDictionary& dictionary) const = 0;
    /// Makes feeders replace ids by the dictionary's numbers from now on. Call at most once.
    virtual void translate(std::shared_ptr<const IdDictionary> dictionary) = 0;

    /// @param wants_ahead Feeder::ahead() will be used
    virtual std::unique_ptr<train::Feeder> feeder(const DistributedSampler::Options& sampling,
                                                  bool wants_ahead) const = 0;
};

std::unique_ptr<ClickSamples> samples_in_memory(ClickLog log);

/// Samples that stay in the cache file and are read when needed.
/// @param memory limit in bytes of what a feeder holds in memory; at least two batches are held in any case
std::unique_ptr<ClickSamples> samples_in_cache(data::ClickCacheFile cache, std::int64_t memory);

}  // namespace dtrain::native
