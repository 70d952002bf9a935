// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/exchange/bucket_sums.hpp"

#include <utility>

#include "comm/api/backend.hpp"

namespace dtrain::program {
namespace {

/// What the communicator reduces: the buckets, or their copies.
std::vector<ElementSpan> reduced(const std::vector<std::span<float>>& buckets,
                                 const std::optional<kernels::HostCopy>& copies) {
    std::vector<ElementSpan> all;
    for (const auto& bucket : buckets) all.emplace_back(copies ? copies->on_host(bucket) : bucket);
    return all;
}

}  // namespace

BucketSums::BucketSums(Communicator communicator, std::vector<std::span<float>> buckets,
                       std::optional<kernels::HostCopy> copies)
    : buckets_(std::move(buckets)),
      copies_(std::move(copies)),
      forked_(buckets_.size()),
      reductions_(std::move(communicator), reduced(buckets_, copies_)) {}

void BucketSums::bring(std::size_t number) {
    if (!copies_) return;
    copies_->download(buckets_[number]);
    copies_->finish();
}

void BucketSums::give_back(std::size_t number) {
    if (copies_) copies_->upload(buckets_[number]);
}

void BucketSums::start(std::size_t number) {
    bring(number);
    reductions_.start(number);
}

void BucketSums::wait(std::size_t number) {
    reductions_.wait(number);
    give_back(number);
}

void BucketSums::add(std::size_t number) {
    bring(number);
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
