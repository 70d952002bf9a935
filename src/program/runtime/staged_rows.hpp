// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/gpu.hpp"
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
    struct Copy {
        void* device;
        void* host;
        std::size_t bytes;
    };

    template <class Value>
    std::span<Value> copied(std::span<Value> device, std::vector<Copy>& copies);

    std::shared_ptr<kernels::Gpu> gpu_;
    std::vector<kernels::Gpu::Memory> memory_;
    std::vector<Copy> made_;
    std::vector<Copy> sums_;
    std::vector<ExchangedRows> host_;
};

}  // namespace dtrain::program
