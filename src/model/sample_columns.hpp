// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "model/spec.hpp"
#include "train/feeder.hpp"

namespace dtrain::model {

enum class Fed {
    all,    ///< inputs, labels and the batch's weights
    inputs  ///< only the inputs
};

/// Number of samples. @throws SampleError if they do not match the model or there are none
std::int64_t checked_count(const Samples& samples, const ModelSpec& spec, Fed fed);

/// Feeds validated samples, which must outlive it, to a program of the spec.
std::unique_ptr<train::Feeder> feeder_of(const Samples& samples, const ModelSpec& spec, Fed fed,
                                         const DistributedSampler::Options& sampling);

}  // namespace dtrain::model
