// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "model/blueprint.hpp"
#include "model/feeder.hpp"

namespace dtrain::model {

enum class Fed {
    all,    ///< inputs, labels and the batch's weights
    inputs  ///< alone
};

/// How many samples there are.
/// @throws SampleError when they do not fit the model or there is none
std::int64_t checked_count(const Samples& samples, const Blueprint& blueprint, Fed fed);

/// Feeds samples that were checked, and that live as long as it, to a program of the blueprint.
std::unique_ptr<Feeder> feeder_of(const Samples& samples, const Blueprint& blueprint, Fed fed,
                                  const DistributedSampler::Options& sampling);

}  // namespace dtrain::model
