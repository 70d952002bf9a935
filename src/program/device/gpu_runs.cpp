// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/device/gpu_runs.hpp"

#include <utility>

#include <fmt/format.h>

#include <dtrain/environment.hpp>

#include "comm/api/backend.hpp"

namespace dtrain::program {
namespace {

using kernels::Kernel;

/// A graph that exists as long as no rank has failed.
class WatchedGraph final : public Kernel {
  public:
    WatchedGraph(std::unique_ptr<Kernel> graph, comm::CapturedOperations& operations)
        : graph_(std::make_shared<std::unique_ptr<Kernel>>(std::move(graph))), operations_(operations) {
        operations_.on_failure([weak = std::weak_ptr(graph_)] {
            if (const auto held = weak.lock()) held->reset();
        });
    }

    void run() override {
        operations_.begin_run();
        (*graph_)->run();
        operations_.note_run();
    }

  private:
    std::shared_ptr<std::unique_ptr<Kernel>> graph_;
    comm::CapturedOperations& operations_;
};

std::string own_reason(const Communicator& communicator) {
    if (Environment::of_this_process().get("DTRAIN_NCCL_GRAPH").value_or("") == "0")
        return "DTRAIN_NCCL_GRAPH is 0";
    return comm::backend_of(communicator)->captured_operations()->why_not();
}

}  // namespace

GpuRuns::GpuRuns(std::shared_ptr<kernels::Gpu> gpu, Communicator communicator)
    : gpu_(std::move(gpu)),
      communicator_(std::move(communicator)),
      operations_(comm::backend_of(communicator_)->captured_operations()),
      poll_(gpu_->poll_before_waits(
          [operations = operations_] { operations->wait_run(operations->last_run()); })) {}

std::unique_ptr<Kernel> GpuRuns::captured(const std::function<void()>& give) {
    operations_->begin_capture();
    std::unique_ptr<Kernel> graph;
    try {
        graph = gpu_->captured(give);
    } catch (...) {
        operations_->end_capture();
        throw;
    }
    operations_->end_capture();
    return std::make_unique<WatchedGraph>(std::move(graph), *operations_);
}

void GpuRuns::end_part() {
    operations_->wait_run(before_last_part_);
    before_last_part_ = std::exchange(last_part_, operations_->last_run());
}

std::string why_sums_are_not_captured(const Communicator& communicator) {
    const auto own = own_reason(communicator);
    auto rank = own.empty() ? communicator.size() : communicator.rank();
    communicator.allreduce(std::span(&rank, 1), Reduction::min);
    if (rank == communicator.size()) return "";
    return fmt::format("{} on rank {}", communicator.broadcast(own, rank), rank);
}

}  // namespace dtrain::program
