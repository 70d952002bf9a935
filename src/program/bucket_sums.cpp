// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/bucket_sums.hpp"

#include <utility>

namespace dtrain::program {

BucketSums::BucketSums(Communicator communicator, std::vector<std::span<float>> buckets,
                       std::unique_ptr<StagedBuckets> staged)
    : communicator_(std::move(communicator)), buckets_(std::move(buckets)), staged_(std::move(staged)) {
    requests_.resize(buckets_.size());
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

}  // namespace dtrain::program
