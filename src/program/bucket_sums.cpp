// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/bucket_sums.hpp"

#include <utility>

#include "comm/backend.hpp"

namespace dtrain::program {

BucketSums::BucketSums(Communicator communicator, std::vector<std::span<float>> buckets,
                       std::unique_ptr<StagedBuckets> staged)
    : communicator_(std::move(communicator)), buckets_(std::move(buckets)), staged_(std::move(staged)) {
    requests_.resize(buckets_.size());
    forked_.resize(buckets_.size());
}

std::span<float> BucketSums::take(std::size_t number) {
    return staged_ ? staged_->take(buckets_[number]) : buckets_[number];
}

void BucketSums::give_back(std::size_t number) {
    if (staged_) staged_->give_back(buckets_[number]);
}

void BucketSums::start(std::size_t number) {
    requests_[number] = communicator_.start_allreduce_sum(take(number));
}

void BucketSums::wait(std::size_t number) {
    requests_[number].wait();
    give_back(number);
}

void BucketSums::add(std::size_t number) {
    communicator_.allreduce_sum(take(number));
    give_back(number);
}

void BucketSums::start_captured(std::size_t number) {
    const auto bytes = std::as_writable_bytes(buckets_[number]);
    forked_[number] = comm::backend_of(communicator_)
                          ->captured_operations()
                          ->fork({.operation = detail::Operation::allreduce,
                                  .element = DataType::float32,
                                  .send = bytes.data(),
                                  .receive = bytes.data(),
                                  .count = buckets_[number].size()});
}

void BucketSums::wait_captured(std::size_t number) {
    comm::backend_of(communicator_)->captured_operations()->join(forked_[number]);
}

}  // namespace dtrain::program
