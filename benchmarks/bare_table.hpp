// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/container/flat_hash_map.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/checksum.hpp"

namespace dtrain::benchmarks {

/// A minimal sparse table: one flat map from id to row number, one vector of rows, plain loops; no size
/// limit, no repeated ids, no checks, initial values zero.
class BareTable {
  public:
    BareTable(std::size_t width, bool is_adam)
        : width_(width), is_adam_(is_adam), stride_(width * (is_adam ? 3 : 1)) {}

    void pull(std::span<const std::int64_t> ids, std::span<float> rows) {
        for (std::size_t i = 0; i < ids.size(); ++i) std::copy_n(row_of(ids[i]), width_, &rows[i * width_]);
    }

    void push(std::span<const std::int64_t> ids, std::span<const float> gradients) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            float* p = row_of(ids[i]);
            const float* g = &gradients[i * width_];
            if (is_adam_)
                adam(p, p + width_, p + 2 * width_, g);
            else
                for (std::size_t j = 0; j < width_; ++j) p[j] -= 0.01F * g[j];
        }
    }

    void settle() {}

    std::size_t bytes() const { return index_.capacity() * 17 + rows_.capacity() * sizeof(float); }

  private:
    float* row_of(std::int64_t id) {
        const auto [found, is_new] = index_.try_emplace(id, rows_.size() / stride_);
        if (is_new) rows_.resize(rows_.size() + stride_);
        return &rows_[found->second * stride_];
    }

    void adam(float* __restrict p, float* __restrict m, float* __restrict v,
              const float* __restrict g) const {
        for (std::size_t j = 0; j < width_; ++j) {
            m[j] = 0.9F * m[j] + 0.1F * g[j];
            v[j] = 0.999F * v[j] + 0.001F * g[j] * g[j];
            p[j] -= 0.001F * m[j] / (std::sqrt(v[j]) + 1e-8F);
        }
    }

    struct IdHash {
        std::size_t operator()(std::int64_t id) const { return mixed(static_cast<std::uint64_t>(id)); }
    };

    std::size_t width_;
    bool is_adam_;
    std::size_t stride_;
    absl::flat_hash_map<std::int64_t, std::size_t, IdHash> index_;
    std::vector<float> rows_;
};

}  // namespace dtrain::benchmarks
