// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/runtime/bucket_sums.hpp"

#include <utility>

#include "comm/api/backend.hpp"

namespace dtrain::program {
namespace {

/// What the communicator reduces: the buckets, or their copies.
std::vector<ElementSpan> reduced(const std::vector<std::span<float>>& buckets, const StagedBuckets* staged) {
    std::vector<ElementSpan> all;
    for (const auto& bucket : buckets) all.emplace_back(staged ? staged->on_host(bucket) : bucket);
    return all;
}

}  // namespace

BucketSums::BucketSums(Communicator communicator, std::vector<std::span<float>> buckets,
                       std::unique_ptr<StagedBuckets> staged)
    : buckets_(std::move(buckets)),
      staged_(std::move(staged)),
      forked_(buckets_.size()),
      reductions_(std::move(communicator), reduced(buckets_, staged_.get())) {}

void BucketSums::take(std::size_t number) {
    if (staged_) staged_->take(buckets_[number]);
}

void BucketSums::give_back(std::size_t number) {
    if (staged_) staged_->give_back(buckets_[number]);
}

void BucketSums::start(std::size_t number) {
    take(number);
    reductions_.start(number);
}

void BucketSums::wait(std::size_t number) {
    reductions_.wait(number);
    give_back(number);
}

void BucketSums::add(std::size_t number) {
    take(number);
    reductions_.run(number);
    give_back(number);
}

void BucketSums::start_captured(std::size_t number) {
    const auto bytes = std::as_writable_bytes(buckets_[number]);
    forked_[number] = comm::backend_of(reductions_.communicator())
                          ->captured_operations()
                          ->fork({.operation = detail::Operation::allreduce,
                                  .element = DataType::float32,
                                  .send = bytes.data(),
                                  .receive = bytes.data(),
                                  .count = buckets_[number].size()});
}

void BucketSums::wait_captured(std::size_t number) {
    comm::backend_of(reductions_.communicator())->captured_operations()->join(forked_[number]);
}

}  // namespace dtrain::program
