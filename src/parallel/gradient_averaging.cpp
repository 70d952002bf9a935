// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <dtrain/data_parallel.hpp>

#include "base/checksum.hpp"
#include "parallel/bucketed_averaging.hpp"
#include "parallel/host_communicator.hpp"

namespace dtrain {
namespace {

Communicator for_host(const Communicator& communicator) {
    parallel::check_is_for_host(communicator, "GradientAveraging",
                                "values and gradients are there; give it the one over MPI that "
                                "nccl_communicator() was made of");
    return communicator;
}

}  // namespace

struct GradientAveraging::Content {
    Content(const Communicator& communicator, std::vector<ParameterBuffers> parameters,
            const GradientAveragingOptions& options)
        : averaging(for_host(communicator), std::move(parameters), options.bucket_bytes,
                    std::make_unique<parallel::HostBuckets>()) {
        for (const auto& parameter : averaging.parameters()) communicator.broadcast(parameter.values.bytes());
    }

    parallel::BucketedAveraging averaging;
    int pauses = 0;
};

GradientAveraging::GradientAveraging(Communicator communicator, std::vector<ParameterBuffers> parameters,
                                     const GradientAveragingOptions& options)
    : content_(std::make_unique<Content>(communicator, std::move(parameters), options)) {}

GradientAveraging::GradientAveraging(GradientAveraging&&) noexcept = default;
GradientAveraging& GradientAveraging::operator=(GradientAveraging&&) noexcept = default;
GradientAveraging::~GradientAveraging() = default;

void GradientAveraging::ready(std::size_t number) {
    if (content_->pauses == 0) content_->averaging.ready(number);
}

void GradientAveraging::finish() {
    if (content_->pauses == 0) content_->averaging.finish();
}

GradientAveraging::Pause::Pause(GradientAveraging& averaging) : averaging_(averaging) {
    ++averaging_.content_->pauses;
}

GradientAveraging::Pause::~Pause() {
    --averaging_.content_->pauses;
}

void GradientAveraging::average_values() {
    content_->averaging.average_values();
}

bool GradientAveraging::values_are_identical() const {
    std::uint64_t sum = 0;
    for (const auto& parameter : content_->averaging.parameters())
        sum = checksum(sum, parameter.values.bytes());
    return content_->averaging.communicator().all_have(static_cast<std::int64_t>(sum));
}

std::int64_t GradientAveraging::bucket_bytes() const {
    return content_->averaging.bucket_bytes();
}

}  // namespace dtrain
