// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <dtrain/element_span.hpp>

namespace dtrain::parallel {

/// How arrays get into buckets and back: in memory of the host, or of a GPU, whose stream executes this in
/// order. Buckets lie in memory that the communicator has allocated.
class BucketMemory {
  public:
    virtual ~BucketMemory() = default;

    virtual void copy(std::span<const std::byte> from, std::span<std::byte> to) = 0;
    virtual void set_to_zero(const ElementSpan& elements) = 0;
    /// to = from / parts, as from * (1 / parts): rounded as the elements are. @param from float or double
    virtual void divide(const ElementSpan& from, int parts, const ElementSpan& to) = 0;
};

/// Arrays and buckets in memory of the host.
class HostBuckets final : public BucketMemory {
  public:
    void copy(std::span<const std::byte> from, std::span<std::byte> to) override;
    void set_to_zero(const ElementSpan& elements) override;
    void divide(const ElementSpan& from, int parts, const ElementSpan& to) override;
};

}  // namespace dtrain::parallel
