// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include <dtrain/data_parallel.hpp>
#include <dtrain/error.hpp>

#include "base/checksum.hpp"
#include "parallel/bucket_plan.hpp"
#include "parallel/bucket_size.hpp"

namespace dtrain {
namespace {

std::vector<std::size_t> sizes_of(const std::vector<ParameterBuffers>& parameters) {
    std::vector<std::size_t> sizes;
    for (const auto& parameter : parameters) sizes.push_back(parameter.values.size());
    return sizes;
}

std::optional<std::string> what_is_wrong(const std::vector<ParameterBuffers>& parameters) {
    if (parameters.empty()) return "there is no parameter whose gradient could be averaged";
    for (const auto& [name, values, gradient] : parameters)
        if (values.size() != gradient.size())
            return fmt::format("parameter '{}' has {} values, but {} in its gradient", name, values.size(),
                               gradient.size());
    return std::nullopt;
}

std::int64_t shape_checksum(const std::vector<ParameterBuffers>& parameters) {
    std::uint64_t sum = 0;
    for (const auto& parameter : parameters) {
        sum = checksum(sum, std::as_bytes(std::span(parameter.name)));
        sum = checksum(sum, parameter.values.size());
    }
    return static_cast<std::int64_t>(sum);
}

void scale(std::span<const float> from, float factor, std::span<float> to) {
    std::ranges::transform(from, to.begin(), [factor](float value) { return value * factor; });
}

}  // namespace

struct GradientAveraging::Content {
    struct Bucket {
        parallel::BucketPlan plan;
        std::size_t missing = 0;  // gradients
        Request request;
    };

    struct Place {
        std::size_t bucket = 0;
        std::size_t begin = 0;  // element
        bool ready = false;
    };

    Content(Communicator with, std::vector<ParameterBuffers> of, const GradientAveragingOptions& options)
        : communicator(std::move(with)), parameters(std::move(of)) {
        check();
        const auto sizes = sizes_of(parameters);
        const auto elements = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
        const auto bytes = static_cast<std::int64_t>(elements * sizeof(float));
        bucket_bytes = options.bucket_bytes > 0 ? options.bucket_bytes
                                                : parallel::measured_bucket_size(communicator, bytes);
        shared = communicator.allocate(elements * sizeof(float));
        memory = shared.as<float>().first(elements);
        places.resize(parameters.size());
        for (auto& plan : parallel::plan_buckets(sizes, bucket_bytes)) {
            auto begin = plan.begin;
            for (const auto number : plan.parameters) {
                places[number] = {buckets.size(), begin, false};
                begin += sizes[number];
            }
            const auto count = plan.parameters.size();
            buckets.push_back({std::move(plan), count, {}});
        }
        for (const auto& parameter : parameters) communicator.broadcast(parameter.values);
    }

    void check() const {
        throw_together(communicator, what_is_wrong(parameters));
        if (communicator.all_have(shape_checksum(parameters))) return;
        const auto counts = communicator.allgather(static_cast<std::int64_t>(parameters.size()));
        const auto other = std::ranges::find_if(counts, [&](auto count) { return count != counts.front(); });
        throw_together(
            communicator,
            other == counts.end()
                ? std::optional<std::string>(
                      "the ranks have parameters of different names or sizes; build the same model "
                      "everywhere, in the same order")
                : fmt::format("rank 0 has {} parameters and rank {} has {}; build the same model "
                              "everywhere",
                              counts.front(), other - counts.begin(), *other));
    }

    std::span<float> memory_of(std::size_t number) {
        return memory.subspan(places[number].begin, parameters[number].values.size());
    }

    std::span<float> memory_of(const Bucket& bucket) {
        return memory.subspan(bucket.plan.begin, bucket.plan.end - bucket.plan.begin);
    }

    void ready(std::size_t number) {
        if (number >= parameters.size())
            throw Error(fmt::format("ready({}): there are {} parameters", number, parameters.size()));
        auto& place = places[number];
        if (place.ready)
            throw Error(
                fmt::format("the gradient of '{}' is ready for the second time; call finish() after "
                            "every backward pass, or no_sync() before",
                            parameters[number].name));
        place.ready = true;
        std::ranges::copy(parameters[number].gradient, memory_of(number).begin());
        --buckets[place.bucket].missing;
        start_complete_ones();
        for (std::size_t i = 0; i < started; ++i)
            if (!buckets[i].request.complete())
                buckets[i].request.test();  // MPI moves data when it is called
    }

    // All ranks start them in the same order.
    void start_complete_ones() {
        for (; started < buckets.size() && buckets[started].missing == 0; ++started)
            buckets[started].request = communicator.start_allreduce_sum(memory_of(buckets[started]));
    }

    void finish() {
        for (std::size_t number = 0; number < parameters.size(); ++number)
            if (!places[number].ready) std::ranges::fill(memory_of(number), 0.0F);
        for (auto& bucket : buckets) bucket.missing = 0;
        start_complete_ones();
        const auto part = 1.0F / static_cast<float>(communicator.size());
        for (auto& bucket : buckets) {
            bucket.request.wait();
            for (const auto number : bucket.plan.parameters) {
                scale(memory_of(number), part, parameters[number].gradient);
                places[number].ready = false;
            }
            bucket.missing = bucket.plan.parameters.size();
        }
        started = 0;
    }

    void average_values() {
        const auto part = 1.0F / static_cast<float>(communicator.size());
        for (const auto& bucket : buckets) {
            for (const auto number : bucket.plan.parameters)
                std::ranges::copy(parameters[number].values, memory_of(number).begin());
            communicator.allreduce_sum(memory_of(bucket));
            for (const auto number : bucket.plan.parameters)
                scale(memory_of(number), part, parameters[number].values);
        }
    }

    Communicator communicator;
    std::vector<ParameterBuffers> parameters;
    std::int64_t bucket_bytes = 0;
    SharedBuffer shared;        // where sums are fastest
    std::span<float> memory;    // of all buckets
    std::vector<Place> places;  // by parameter
    std::size_t started = 0;    // buckets
    int pauses = 0;
    std::vector<Bucket> buckets;  // goes first, for their requests use communicator and memory
};

GradientAveraging::GradientAveraging(Communicator communicator, std::vector<ParameterBuffers> parameters,
                                     const GradientAveragingOptions& options)
    : content_(std::make_unique<Content>(std::move(communicator), std::move(parameters), options)) {}

GradientAveraging::GradientAveraging(GradientAveraging&&) noexcept = default;
GradientAveraging& GradientAveraging::operator=(GradientAveraging&&) noexcept = default;
GradientAveraging::~GradientAveraging() = default;

void GradientAveraging::ready(std::size_t number) {
    if (content_->pauses == 0) content_->ready(number);
}

void GradientAveraging::finish() {
    if (content_->pauses == 0) content_->finish();
}

GradientAveraging::Pause::Pause(GradientAveraging& averaging) : averaging_(averaging) {
    ++averaging_.content_->pauses;
}

GradientAveraging::Pause::~Pause() {
    --averaging_.content_->pauses;
}

void GradientAveraging::average_values() {
    content_->average_values();
}

bool GradientAveraging::values_are_identical() const {
    std::uint64_t sum = 0;
    for (const auto& parameter : content_->parameters)
        sum = checksum(sum, std::as_bytes(std::span(parameter.values)));
    return content_->communicator.all_have(static_cast<std::int64_t>(sum));
}

std::int64_t GradientAveraging::bucket_bytes() const {
    return content_->bucket_bytes;
}

}  // namespace dtrain
