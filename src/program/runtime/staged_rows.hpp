// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/host_copy.hpp"
#include "program/runtime/exchanged_rows.hpp"

namespace dtrain::program {

/// Host copies of sparse gradients on a GPU, which ranks exchange.
class StagedRows {
  public:
    StagedRows(std::shared_ptr<kernels::Gpu> gpu, const std::vector<ExchangedRows>& device);

    const std::vector<ExchangedRows>& on_host() const { return host_; }

    /// Downloads the gradients of the batch. @throws Error as Gpu::finish()
    void take();
    /// Uploads the sums; the host copies stay unchanged until the next take().
    void give_back();

  private:
    template <class Value>
    struct Copied {
        std::span<Value> device;
        kernels::HostCopy host;
    };
    template <class Value>
    using AllCopied = std::vector<Copied<Value>>;

    template <class Value>
    std::span<std::remove_const_t<Value>> add(std::span<Value> device, AllCopied<Value>& all);

    std::shared_ptr<kernels::Gpu> gpu_;
    AllCopied<const std::int64_t> made_rows_;
    AllCopied<const float> made_;
    AllCopied<std::int64_t> rows_;
    AllCopied<float> values_;
    std::vector<ExchangedRows> host_;
};

}  // namespace dtrain::program
