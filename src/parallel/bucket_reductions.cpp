// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "parallel/bucket_reductions.hpp"

#include <utility>

#include "parallel/with_real.hpp"

namespace dtrain::parallel {

BucketReductions::BucketReductions(Communicator communicator, std::vector<ElementSpan> buckets)
    : communicator_(std::move(communicator)), buckets_(std::move(buckets)), requests_(buckets_.size()) {}

void BucketReductions::start(std::size_t number) {
    const auto& bucket = buckets_[number];
    requests_[number] = with_real(bucket.type(), [&]<class T>() {
        return communicator_.start_allreduce(bucket.as<T>(), reduction_of_gradients(bucket.type()));
    });
}

void BucketReductions::run(std::size_t number) {
    const auto& bucket = buckets_[number];
    with_real(bucket.type(), [&]<class T>() {
        communicator_.allreduce(bucket.as<T>(), reduction_of_gradients(bucket.type()));
    });
}

void BucketReductions::progress() {
    for (auto& request : requests_)
        if (!request.complete()) request.test();
}

}  // namespace dtrain::parallel
