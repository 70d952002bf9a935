// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "kernels/host_copy.hpp"
#include "program/exchange/exchanged_rows.hpp"

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
    struct Staged {
        ExchangedRows device;
        kernels::HostCopy made_rows, made, rows, values;
    };

    std::shared_ptr<kernels::Gpu> gpu_;
    std::vector<Staged> staged_;
    std::vector<ExchangedRows> host_;
};

}  // namespace dtrain::program
