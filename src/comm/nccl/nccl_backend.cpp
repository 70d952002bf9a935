// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_backend.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "comm/api/defined_reduction.hpp"
#include "comm/api/operation_name.hpp"
#include "comm/failure/leaving.hpp"
#include "comm/message/transport.hpp"
#include "comm/nccl/nccl_memory.hpp"
#include "comm/nccl/nccl_queue.hpp"
#include "comm/node/announced.hpp"

namespace dtrain::comm {
namespace {

bool is_exchange(const Call& call) {
    return call.operation == Operation::all_to_allv;
}

void refuse_what_nccl_has_not(const Call& call) {
    if (call.operation == Operation::reduce_shards)
        throw NcclError("NCCL has no reduce_shards: take reduce_scatter, or the communicator over MPI");
    if (combines_bits(call.reduction))
        throw NcclError(
            fmt::format("{} ({}) of memory of the GPU: NCCL does not combine bits; take the "
                        "communicator over MPI",
                        name_of(call.operation), name_of(call.reduction)));
    if (call.element == DataType::int16 || call.element == DataType::uint16)
        throw NcclError(
            fmt::format("{} of {} in memory of the GPU: NCCL has no integers of 16 bits; take "
                        "the communicator over MPI, or int32",
                        name_of(call.operation), to_string(call.element)));
    if (call.operation == Operation::receive_any)
        throw NcclError(
            "NCCL has no receive_any: its messages have one sender; take receive, or the "
            "communicator over MPI");
    if (call.tag != 0)
        throw NcclError(
            fmt::format("{} with tag {}: NCCL has no tags; messages between two ranks arrive in the "
                        "order in which they were started",
                        comm::name_of(call.operation), call.tag));
}

class NcclCaptured final : public CapturedOperations {
  public:
    NcclCaptured(NcclPort& port, NcclQueue& queue) : port_(port), queue_(queue) {}

    std::string why_not() const override { return port_.why_not_captured(); }
    void begin_capture() override { queue_.begin_capture(); }
    void end_capture() override { queue_.end_capture(); }

    std::size_t fork(const Call& call) override {
        queue_.capture(call);
        return port_.forked();
    }
    void join(std::size_t operation) override { port_.join(operation); }

    void begin_run() override { queue_.expect_all_well(); }
    void note_run() override { last_ = queue_.note_run(); }
    std::uint64_t last_run() const override { return last_; }
    void wait_run(std::uint64_t number) override { queue_.wait(number); }
    void on_failure(std::function<void()> destroy) override { queue_.on_failure(std::move(destroy)); }

  private:
    NcclPort& port_;
    NcclQueue& queue_;
    std::uint64_t last_ = 0;
};

class NcclBackend final : public CommunicatorBackend {
  public:
    NcclBackend(const Communicator& over_mpi, NcclOptions options, MakeNcclPort make_port)
        : options_(std::move(options)),
          make_port_(std::move(make_port)),
          mpi_(over_mpi.duplicate()),
          over_mpi_(backend_of(mpi_)),
          failure_monitor_(over_mpi_->open_failure_monitor()),
          port_(make_port_(mpi_, options_)),
          queue_(*port_, *failure_monitor_, options_.abort_within),
          memory_(*port_) {
        queue_.join();
    }

    ~NcclBackend() override {
        if (leaves_alone()) return;
        try {
            queue_.drain();
            memory_.free_released();
            freed_.emplace(queue_.record_free());
            queue_.leave();
            port_->end();
        } catch (const Error&) {
            // It was aborted, and all ranks know.
        }
    }

    int rank() const override { return over_mpi_->rank(); }
    int size() const override { return over_mpi_->size(); }
    int nodes() const override { return over_mpi_->nodes(); }
    int node() const override { return over_mpi_->node(); }
    int node_rank() const override { return over_mpi_->node_rank(); }
    int node_size() const override { return over_mpi_->node_size(); }

    Request start(const Call& call) override {
        if (call.operation != Operation::barrier) {
            if (call.count == 0 && !is_exchange(call) && call.operation != Operation::receive_any) return {};
            if (is_on_host(call)) return over_mpi_->start(call);
        }
        refuse_what_nccl_has_not(call);
        return {this, queue_.start(call)};
    }

    void run(const Call& call) override { start(call).wait(); }
    bool test(std::uintptr_t handle) override { return queue_.test(handle); }
    void wait(std::uintptr_t handle) override { queue_.wait(handle); }
    bool wait_until(std::uintptr_t handle, Backoff::Clock::time_point end) override {
        return queue_.wait_until(handle, end);
    }

    void set_name(std::string_view name) override {
        queue_.set_name(name);
        over_mpi_->set_name(fmt::format("{} over MPI", name));
    }

    void set_deadline(std::chrono::duration<double> deadline) override {
        over_mpi_->set_deadline(deadline);
        queue_.set_deadline(deadline);
    }

    SharedBuffer allocate(std::size_t bytes, const std::shared_ptr<CommunicatorBackend>& self) override {
        queue_.drain();
        memory_.free_released();
        std::optional<std::string> problem;
        NcclPort::Memory memory;
        try {
            memory = port_->allocate(bytes);
        } catch (const NcclError& error) {
            problem = error.what();
        }
        const auto owner = memory_.keep(memory, self);
        throw_together<NcclError>(mpi_, problem);
        std::vector<std::span<std::byte>> parts(static_cast<std::size_t>(size()));
        parts[static_cast<std::size_t>(rank())] = {memory.data, bytes};
        return {owner, std::move(parts), rank()};
    }

    std::string gpu_of_memory() const override { return port_->describe(); }

    std::shared_ptr<CommunicatorBackend> split(int color, int key) override {
        // Makes a new id over the part of the MPI communicator instead of calling ncclCommSplit: each part
        // then has its own deadline and lifetime, independent of this communicator, and it works with older
        // NCCL versions.
        auto options = options_;
        options.name = fmt::format("{}/{}.{}", options_.name, ++parts_made_, color);
        options.ids = 0;
        options.device = port_->device();
        return nccl_backend(mpi_.split(color, key), options, make_port_);
    }

    std::shared_ptr<CommunicatorBackend> subset(std::span<const int> ranks, int tag) override {
        auto options = options_;
        options.name = fmt::format("{}/{}-{}.{}", options_.name, ranks.front(), ranks.back(), tag);
        options.ids = 0;
        options.device = port_->device();
        return nccl_backend(mpi_.subset(ranks, tag), options, make_port_);
    }

    CapturedOperations* captured_operations() override { return &captured_; }

    std::unique_ptr<Transport> open_transport() override { return over_mpi_->open_transport(); }
    bool may_wait() const override { return over_mpi_->may_wait(); }
    MPI_Comm copy_for_mpi() override { return over_mpi_->copy_for_mpi(); }
    std::unique_ptr<FailureMonitor> open_failure_monitor() override {
        return over_mpi_->open_failure_monitor();
    }

    std::string describe() const override {
        return fmt::format("{} on {}: {}, \"{}\"; memory of the host: {}", counted(size(), "rank"),
                           counted(nodes(), "node"), port_->describe(), options_.name, over_mpi_->describe());
    }

  private:
    bool is_on_host(const Call& call) const {
        const auto out = port_->location_of(call.send);
        const auto in = port_->location_of(call.receive);
        if (out == MemoryLocation::other_gpu || in == MemoryLocation::other_gpu)
            throw NcclError(fmt::format("{} of memory of another GPU than the communicator's ({})",
                                        comm::name_of(call.operation), port_->describe()));
        const bool some_on_host = out == MemoryLocation::host || in == MemoryLocation::host;
        if (some_on_host && (out == MemoryLocation::this_gpu || in == MemoryLocation::this_gpu))
            throw NcclError(
                fmt::format("{} between memory of the host and of the GPU: both must be on one side",
                            comm::name_of(call.operation)));
        // A rank with nothing to send or receive has no memory that shows which transport the others use.
        if (some_on_host && is_exchange(call))
            throw NcclError("all_to_allv of memory of the host: take the communicator over MPI");
        return some_on_host;
    }

    std::optional<trace::ScopedOperation> freed_;  ///< ends when all below are freed
    NcclOptions options_;
    MakeNcclPort make_port_;
    Communicator mpi_;
    std::shared_ptr<CommunicatorBackend> over_mpi_;
    std::unique_ptr<FailureMonitor> failure_monitor_;
    std::unique_ptr<NcclPort> port_;
    NcclQueue queue_;
    NcclMemory memory_;
    NcclCaptured captured_{*port_, queue_};
    int parts_made_ = 0;
};

}  // namespace

std::shared_ptr<CommunicatorBackend> nccl_backend(const Communicator& over_mpi, const NcclOptions& options,
                                                  const MakeNcclPort& make_port) {
    return std::make_shared<NcclBackend>(over_mpi, options, make_port);
}

}  // namespace dtrain::comm
