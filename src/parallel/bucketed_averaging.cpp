// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "parallel/bucketed_averaging.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "parallel/bucket_size.hpp"
#include "parallel/parameter_check.hpp"

namespace dtrain::parallel {
namespace {

/// The last parameter that the forward pass uses is the first whose gradient is complete.
std::vector<ExchangedArray> arrays_of(const std::vector<ParameterBuffers>& parameters,
                                      ElementSpan ParameterBuffers::*which) {
    std::vector<ExchangedArray> arrays;
    for (std::size_t number = 0; number < parameters.size(); ++number) {
        const auto& elements = parameters[number].*which;
        arrays.push_back(
            {.element = elements.type(), .count = elements.size(), .made = parameters.size() - number});
    }
    return arrays;
}

/// The sum of all arrays of the type with the most bytes.
ExchangedArray most_of(std::span<const ExchangedArray> arrays) {
    std::map<DataType, ExchangedArray> of_type;
    for (const auto& array : arrays) {
        auto& all = of_type[array.element];
        all.element = array.element;
        all.count += array.count;
    }
    return std::ranges::max(std::views::values(of_type), {}, &ExchangedArray::bytes);
}

}  // namespace

BucketedAveraging::Layout::Layout(std::span<const ExchangedArray> arrays, std::int64_t bucket_bytes)
    : buckets(plan_buckets(arrays, bucket_bytes)), begins(arrays.size()) {
    for (const auto& bucket : buckets) {
        auto begin = bucket.begin;
        for (const auto number : bucket.arrays) {
            begins[number] = begin;
            begin += arrays[number].bytes();
        }
    }
}

BucketedAveraging::BucketedAveraging(Communicator communicator, std::vector<ParameterBuffers> parameters,
                                     std::int64_t bucket_bytes, std::unique_ptr<BucketMemory> memory)
    : parameters_(std::move(parameters)),
      memory_(std::move(memory)),
      bucket_bytes_(bucket_bytes),
      reductions_(communicator, {}) {
    check_parameters(communicator, parameters_);
    const auto arrays = arrays_of(parameters_, &ParameterBuffers::gradient);
    const auto most = most_of(arrays);
    const auto measured = bucket_bytes_ > 0 ? 0 : bytes_to_measure(most.bytes());
    // Buckets of one array each have the largest gaps, so any other layout fits in.
    const auto largest = Layout(arrays, 0).bytes();
    allocated_ = communicator.allocate(std::max({largest, layout_of_values(0).bytes(), measured}));
    if (bucket_bytes_ <= 0)
        bucket_bytes_ = measured_bucket_size(communicator, allocated_.bytes().first(measured), most.element);
    const Layout layout(arrays, bucket_bytes_);
    buckets_ = layout.buckets;
    gradients_.resize(parameters_.size());
    for (const auto& bucket : buckets_) {
        for (const auto number : bucket.arrays)
            gradients_[number] = {.bucket = missing_.size(),
                                  .memory = memory_at(layout.begins[number], parameters_[number].gradient)};
        missing_.push_back(bucket.arrays.size());
    }
    reductions_ = {std::move(communicator), memory_of(buckets_)};
}

BucketedAveraging::Layout BucketedAveraging::layout_of_values(std::int64_t bucket_bytes) const {
    return {arrays_of(parameters_, &ParameterBuffers::values), bucket_bytes};
}

/// Bucket memory, with the type and number of these elements.
ElementSpan BucketedAveraging::memory_at(std::size_t begin, const ElementSpan& elements) const {
    return {elements.type(), allocated_.bytes().data() + begin, elements.size()};
}

std::vector<ElementSpan> BucketedAveraging::memory_of(const std::vector<BucketPlan>& buckets) const {
    std::vector<ElementSpan> memory;
    for (const auto& bucket : buckets)
        memory.emplace_back(bucket.element, allocated_.bytes().data() + bucket.begin,
                            (bucket.end - bucket.begin) / size_of(bucket.element));
    return memory;
}

void BucketedAveraging::put_average(const ElementSpan& reduced, const ElementSpan& to) {
    if (reduction_of_gradients(reduced.type()) == Reduction::average)
        memory_->copy(reduced.bytes(), to.bytes());
    else
        memory_->divide(reduced, communicator().size(), to);
}

void BucketedAveraging::ready(std::size_t number) {
    if (number >= parameters_.size())
        throw Error(fmt::format("ready({}): there are {} parameters", number, parameters_.size()));
    auto& gradient = gradients_[number];
    if (gradient.ready)
        throw Error(
            fmt::format("the gradient of '{}' is ready for the second time; call finish() after "
                        "every backward pass, or no_sync() before",
                        parameters_[number].name));
    gradient.ready = true;
    memory_->copy(parameters_[number].gradient.bytes(), gradient.memory.bytes());
    --missing_[gradient.bucket];
    start_complete_ones();
    reductions_.progress();
}

// All ranks start the buckets in the same order.
void BucketedAveraging::start_complete_ones() {
    for (; started_ < missing_.size() && missing_[started_] == 0; ++started_) reductions_.start(started_);
}

void BucketedAveraging::finish() {
    for (const auto& gradient : gradients_)
        if (!gradient.ready) memory_->set_to_zero(gradient.memory);
    std::ranges::fill(missing_, 0);
    start_complete_ones();
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
        reductions_.wait(bucket);
        for (const auto number : buckets_[bucket].arrays) {
            put_average(gradients_[number].memory, parameters_[number].gradient);
            gradients_[number].ready = false;
        }
        missing_[bucket] = buckets_[bucket].arrays.size();
    }
    started_ = 0;
}

void BucketedAveraging::average_values() {
    const auto layout = layout_of_values(bucket_bytes_);
    BucketReductions reductions(communicator(), memory_of(layout.buckets));
    const auto memory_for = [&](std::size_t number) {
        return memory_at(layout.begins[number], parameters_[number].values);
    };
    for (std::size_t bucket = 0; bucket < layout.buckets.size(); ++bucket) {
        const auto& numbers = layout.buckets[bucket].arrays;
        for (const auto number : numbers)
            memory_->copy(parameters_[number].values.bytes(), memory_for(number).bytes());
        reductions.start(bucket);
        reductions.wait(bucket);
        for (const auto number : numbers) put_average(memory_for(number), parameters_[number].values);
    }
}

}  // namespace dtrain::parallel
