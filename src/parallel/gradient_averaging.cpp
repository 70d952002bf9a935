// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <ranges>
#include <span>

#include <fmt/format.h>

#include <dtrain/data_parallel.hpp>
#include <dtrain/error.hpp>

#include "base/checksum.hpp"
#include "parallel/bucket_plan.hpp"
#include "parallel/bucket_size.hpp"
#include "parallel/parameter_check.hpp"
#include "parallel/with_real.hpp"

namespace dtrain {
namespace {

using parallel::ArraySize;

ArraySize size_of(const ElementSpan& elements) {
    return {elements.type(), elements.size()};
}

std::vector<ArraySize> sizes_of(const std::vector<ParameterBuffers>& parameters,
                                ElementSpan ParameterBuffers::*which) {
    std::vector<ArraySize> sizes;
    for (const auto& parameter : parameters) sizes.push_back(size_of(parameter.*which));
    return sizes;
}

/// The sum of all arrays of the type with the most bytes.
ArraySize most_of(std::span<const ArraySize> sizes) {
    std::map<DataType, ArraySize> of_type;
    for (const auto& [element, count] : sizes) {
        auto& all = of_type[element];
        all.element = element;
        all.count += count;
    }
    return std::ranges::max(std::views::values(of_type), {}, &ArraySize::bytes);
}

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

/// The reduction to request from the communicator; put_average() computes the average from it.
template <Reducible T>
constexpr Reduction reduction_of() {
    return is_half(data_type_of<T>) ? Reduction::average : Reduction::sum;
}

Request start_reduction(const Communicator& communicator, const ElementSpan& elements) {
    return parallel::with_real(elements.type(), [&]<class T>() {
        return communicator.start_allreduce(elements.as<T>(), reduction_of<T>());
    });
}

void put_average(const ElementSpan& reduced, int ranks, const ElementSpan& to) {
    parallel::with_real(reduced.type(), [&]<class T>() {
        if constexpr (reduction_of<T>() == Reduction::average) {
            copy(reduced.bytes(), to.bytes());
        } else {
            const auto part = T{1} / static_cast<T>(ranks);
            std::ranges::transform(reduced.as<T>(), to.as<T>().begin(),
                                   [part](T value) { return value * part; });
        }
    });
}

/// Buckets, and the offset of each parameter's array in their memory.
struct Layout {
    std::vector<parallel::BucketPlan> buckets;
    std::vector<std::size_t> begins;  // offsets in bytes, by parameter

    Layout(std::span<const ArraySize> sizes, std::int64_t bucket_bytes)
        : buckets(parallel::plan_buckets(sizes, bucket_bytes)), begins(sizes.size()) {
        for (const auto& bucket : buckets) {
            auto begin = bucket.begin;
            for (const auto number : bucket.parameters) {
                begins[number] = begin;
                begin += sizes[number].bytes();
            }
        }
    }

    std::size_t bytes() const { return buckets.back().end; }
};

}  // namespace

struct GradientAveraging::Content {
    struct Bucket {
        parallel::BucketPlan plan;
        std::size_t missing = 0;  // number of gradients
        Request request = {};
    };

    struct Place {
        std::size_t bucket = 0;
        std::size_t begin = 0;  // offset in bytes
        bool ready = false;
    };

    Content(Communicator with, std::vector<ParameterBuffers> of, const GradientAveragingOptions& options)
        : communicator(std::move(with)), parameters(std::move(of)) {
        parallel::check_parameters(communicator, parameters);
        const auto sizes = sizes_of(parameters, &ParameterBuffers::gradient);
        const auto max = most_of(sizes);
        bucket_bytes = options.bucket_bytes > 0
                           ? options.bucket_bytes
                           : parallel::measured_bucket_size(
                                 communicator, static_cast<std::int64_t>(max.bytes()), max.element);
        Layout gradients(sizes, bucket_bytes);
        const Layout values = layout_of_values();
        shared = communicator.allocate(std::max(gradients.bytes(), values.bytes()));
        memory = shared.bytes();
        places.resize(parameters.size());
        for (auto& plan : gradients.buckets) {
            for (const auto number : plan.parameters)
                places[number] = {buckets.size(), gradients.begins[number]};
            const auto count = plan.parameters.size();
            buckets.push_back({std::move(plan), count});
        }
        for (const auto& parameter : parameters) communicator.broadcast(parameter.values.bytes());
    }

    Layout layout_of_values() const {
        return {sizes_of(parameters, &ParameterBuffers::values), bucket_bytes};
    }

    /// Bucket memory, with the type and number of these elements.
    ElementSpan memory_at(std::size_t begin, const ElementSpan& elements) const {
        return {elements.type(), memory.data() + begin, elements.size()};
    }

    ElementSpan memory_of(const parallel::BucketPlan& plan) const {
        return {plan.element, memory.data() + plan.begin, (plan.end - plan.begin) / size_of(plan.element)};
    }

    ElementSpan memory_of_gradient(std::size_t number) const {
        return memory_at(places[number].begin, parameters[number].gradient);
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
        copy(parameters[number].gradient.bytes(), memory_of_gradient(number).bytes());
        --buckets[place.bucket].missing;
        start_complete_ones();
        for (std::size_t i = 0; i < started; ++i)
            if (!buckets[i].request.complete())
                buckets[i].request.test();  // MPI transfers data while it is being called
    }

    // All ranks start the buckets in the same order.
    void start_complete_ones() {
        for (; started < buckets.size() && buckets[started].missing == 0; ++started)
            buckets[started].request = start_reduction(communicator, memory_of(buckets[started].plan));
    }

    void finish() {
        for (std::size_t number = 0; number < parameters.size(); ++number)
            if (!places[number].ready) std::ranges::fill(memory_of_gradient(number).bytes(), std::byte{0});
        for (auto& bucket : buckets) bucket.missing = 0;
        start_complete_ones();
        for (auto& bucket : buckets) {
            bucket.request.wait();
            for (const auto number : bucket.plan.parameters) {
                put_average(memory_of_gradient(number), communicator.size(), parameters[number].gradient);
                places[number].ready = false;
            }
            bucket.missing = bucket.plan.parameters.size();
        }
        started = 0;
    }

    void average_values() {
        const auto layout = layout_of_values();
        const auto place = [&](std::size_t number) {
            return memory_at(layout.begins[number], parameters[number].values);
        };
        for (const auto& bucket : layout.buckets) {
            for (const auto number : bucket.parameters)
                copy(parameters[number].values.bytes(), place(number).bytes());
            start_reduction(communicator, memory_of(bucket)).wait();
            for (const auto number : bucket.parameters)
                put_average(place(number), communicator.size(), parameters[number].values);
        }
    }

    Communicator communicator;
    std::vector<ParameterBuffers> parameters;
    std::int64_t bucket_bytes = 0;
    SharedBuffer shared;          // memory in which reductions are fastest
    std::span<std::byte> memory;  // of all buckets
    std::vector<Place> places;    // by parameter
    std::size_t started = 0;      // number of started buckets
    int pauses = 0;
    std::vector<Bucket> buckets;  // destroyed first, because their requests use communicator and memory
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
    for (const auto& parameter : content_->parameters) sum = checksum(sum, parameter.values.bytes());
    return content_->communicator.all_have(static_cast<std::int64_t>(sum));
}

std::int64_t GradientAveraging::bucket_bytes() const {
    return content_->bucket_bytes;
}

}  // namespace dtrain
