// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <dtrain/click_log.hpp>

#include "io/click_cache_file.hpp"
#include "model/feeder.hpp"
#include "worker/native/id_dictionary.hpp"

namespace dtrain::native {

/// The samples of a click log, wherever they lie.
class ClickSamples {
  public:
    ClickSamples() = default;
    ClickSamples(const ClickSamples&) = delete;
    ClickSamples& operator=(const ClickSamples&) = delete;
    virtual ~ClickSamples() = default;

    virtual std::int64_t size() const = 0;
    virtual std::int64_t integers() const = 0;
    virtual std::int64_t slots() const = 0;
    /// ClickLog::fingerprint() of the log as it was read.
    virtual std::uint64_t fingerprint() const = 0;

    /// Adds all ids, in the order of the log.
    virtual void add_ids_to(IdDictionary& dictionary) const = 0;
    /// From now on feeders give a dictionary's numbers in the place of ids. Once.
    virtual void translate(std::shared_ptr<const IdDictionary> dictionary) = 0;

    /// @param wants_ahead Feeder::ahead() is wanted
    virtual std::unique_ptr<model::Feeder> feeder(const DistributedSampler::Options& sampling,
                                                  bool wants_ahead) const = 0;
};

std::unique_ptr<ClickSamples> samples_in_memory(ClickLog log);

/// They stay where they are.
/// @param memory bytes of them that a feeder may have in memory; at least two batches are
std::unique_ptr<ClickSamples> samples_in_cache(io::ClickCacheFile cache, std::int64_t memory);

}  // namespace dtrain::native
