// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_gpu_port.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/nccl.hpp>

#include "base/gpu_software.hpp"
#include "comm/nccl/nccl_calls.hpp"

namespace dtrain::comm {
namespace {

/// Selects the GPU of a communicator while it is in use; the caller may have selected another one.
class OnDevice {
  public:
    explicit OnDevice(int device) {
        cudaGetDevice(&before_);
        if (before_ == device) return;
        check(cudaSetDevice(device), "cudaSetDevice");
        changed_ = true;
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    ~OnDevice() {
        if (changed_) cudaSetDevice(before_);
    }

  private:
    int before_ = 0;
    bool changed_ = false;
};

class GpuPort final : public NcclPort {
  public:
    GpuPort(const NcclPortOptions& options, std::vector<NcclUniqueId> ids)
        : options_(options), ids_(std::move(ids)), compute_(static_cast<cudaStream_t>(options.stream)) {
        const OnDevice on_device(options_.device);
        int min = 0;
        int greatest = 0;
        check(cudaDeviceGetStreamPriorityRange(&min, &greatest), "cudaDeviceGetStreamPriorityRange");
        check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
              "cudaStreamCreateWithPriority");
        check(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        check(cudaMalloc(&for_barrier_, sizeof(int)), "cudaMalloc");
        check(cudaMemset(for_barrier_, 0, sizeof(int)), "cudaMemset");
    }

    ~GpuPort() override {
        // Objects that were not ended belong to a GPU that may never finish: they are left to the end of the
        // process.
        if (!ended_) return;
        for (const auto event : marks_) cudaEventDestroy(event);
        for (const auto event : forked_) cudaEventDestroy(event);
        cudaEventDestroy(ready_);
        cudaStreamDestroy(stream_);
        cudaFree(for_barrier_);
    }

    NcclAnswer join() override {
        const OnDevice on_device(options_.device);
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
#if DTRAIN_NCCL_NAMES
        config.commName = options_.name.c_str();
#endif
        static_assert(sizeof(ncclUniqueId) == sizeof(NcclUniqueId));
        std::vector<ncclUniqueId> ids(ids_.size());
        std::memcpy(ids.data(), ids_.data(), ids.size() * sizeof(ncclUniqueId));
#if DTRAIN_NCCL_SCALABLE
        if (ids.size() > 1)
            return answer_of(ncclCommInitRankScalable(&communicator_, options_.size, options_.rank,
                                                      static_cast<int>(ids.size()), ids.data(), &config),
                             "ncclCommInitRankScalable", nullptr);
#endif
        return answer_of(
            ncclCommInitRankConfig(&communicator_, options_.size, ids.front(), options_.rank, &config),
            "ncclCommInitRankConfig", nullptr);
    }

    NcclAnswer issue(std::span<const Call> calls) override {
        const OnDevice on_device(options_.device);
        before_ = mark_of(compute_);
        auto follows =
            mark_error_ != cudaSuccess ? answer_of(mark_error_, "cudaEventRecord") : follow(marks_[before_]);
        if (follows.state != NcclState::done) return follows;
        if (calls.size() == 1) return issue_one(calls.front());
        auto answer = answer_of(ncclGroupStart(), "ncclGroupStart", communicator_);
        for (const auto& call : calls)
            if (answer.state == NcclState::done || answer.state == NcclState::in_progress)
                answer = issue_one(call);
        const auto ended = answer_of(ncclGroupEnd(), "ncclGroupEnd", communicator_);
        const bool started = answer.state == NcclState::done || answer.state == NcclState::in_progress;
        return started ? ended : answer;
    }

    NcclAnswer status() override {
        auto state = ncclSuccess;
        const auto asked = ncclCommGetAsyncError(communicator_, &state);
        return answer_of(asked == ncclSuccess ? state : asked, "NCCL", communicator_);
    }

    std::size_t mark() override {
        return mark_of(stream_);
    }
    std::size_t mark_computed() override {
        return mark_of(compute_);
    }

    NcclAnswer reached(std::size_t mark) override {
        const auto error = mark_error_ != cudaSuccess ? mark_error_ : cudaEventQuery(marks_[mark]);
        if (error == cudaSuccess) free_marks_.push_back(mark);
        return answer_of(error, "an operation on the GPU");
    }

    std::size_t mark_before() const override {
        return before_;
    }
    void release(std::size_t mark) override {
        free_marks_.push_back(mark);
    }

    std::string why_not_captured() const override {
        constexpr int min = 11030;  // CUDA version, by the NCCL guide; all supported NCCLs can do it
        int driver = 0;
        cudaDriverGetVersion(&driver);
        if (driver == 0 || driver >= min) return "";
        return fmt::format("the driver has CUDA {}, and capturing NCCL needs 11.3",
                           cuda_version_text(driver));
    }

    // A stream that waits for a captured stream is captured with it.
    NcclAnswer fork(const Call& call) override {
        const OnDevice on_device(options_.device);
        const auto recorded = answer_of(cudaEventRecord(ready_, compute_), "cudaEventRecord");
        const auto follows = recorded.state == NcclState::done ? follow(ready_) : recorded;
        return follows.state == NcclState::done ? issue_one(call) : follows;
    }

    std::size_t forked() override {
        const OnDevice on_device(options_.device);
        cudaEvent_t event = nullptr;
        check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        forked_.push_back(event);
        check(cudaEventRecord(event, stream_), "cudaEventRecord");
        return forked_.size() - 1;
    }

    void join(std::size_t forked) override {
        const OnDevice on_device(options_.device);
        check(cudaStreamWaitEvent(compute_, forked_.at(forked), 0), "cudaStreamWaitEvent");
    }

    NcclAnswer leave() override {
        return answer_of(ncclCommFinalize(communicator_), "ncclCommFinalize", communicator_);
    }

    void end() override {
        ncclCommDestroy(communicator_);
        communicator_ = nullptr;
        ended_ = true;
    }

    std::function<void()> aborter() override {
        return [communicator = communicator_, device = options_.device] {
            if (communicator == nullptr) return;
            cudaSetDevice(device);
            ncclCommAbort(communicator);
        };
    }

    MemoryLocation location_of(const void* memory) const override {
        if (memory == nullptr) return MemoryLocation::nowhere;
        cudaPointerAttributes about{};
        if (cudaPointerGetAttributes(&about, memory) != cudaSuccess) {
            cudaGetLastError();
            return MemoryLocation::host;
        }
        if (about.type == cudaMemoryTypeManaged) return MemoryLocation::this_gpu;
        if (about.type != cudaMemoryTypeDevice) return MemoryLocation::host;
        return about.device == options_.device ? MemoryLocation::this_gpu : MemoryLocation::other_gpu;
    }

    Memory allocate(std::size_t bytes) override {
        const OnDevice on_device(options_.device);
        Memory memory{.bytes = bytes};
        void* data = nullptr;
        const auto length = std::max<std::size_t>(bytes, 1);
#if DTRAIN_NCCL_MEMORY
        check(ncclMemAlloc(&data, length), "ncclMemAlloc");
#else
        check(cudaMalloc(&data, length), "cudaMalloc");
#endif
        memory.data = static_cast<std::byte*>(data);
        try {
            check(cudaMemset(data, 0, length), "cudaMemset");
#if DTRAIN_NCCL_MEMORY
            check(ncclCommRegister(communicator_, data, length, &memory.registration), "ncclCommRegister");
#endif
        } catch (const NcclError&) {
            free(memory);
            throw;
        }
        return memory;
    }

    void free(const Memory& memory) override {
#if DTRAIN_NCCL_MEMORY
        if (memory.registration != nullptr) ncclCommDeregister(communicator_, memory.registration);
        ncclMemFree(memory.data);
#else
        cudaFree(memory.data);
#endif
    }

    int device() const override {
        return options_.device;
    }

    std::string describe() const override {
        int version = 0;
        ncclGetVersion(&version);
        return fmt::format("NCCL {} on GPU {}", nccl_version_text(version), options_.device);
    }

  private:
    /// Makes the next operation start after the computations that this event comes after, without delaying
    /// later ones.
    NcclAnswer follow(cudaEvent_t computed) {
        return answer_of(cudaStreamWaitEvent(stream_, computed, 0), "cudaStreamWaitEvent");
    }

    std::size_t mark_of(cudaStream_t stream) {
        const OnDevice on_device(options_.device);
        auto error = cudaSuccess;
        if (free_marks_.empty()) {
            cudaEvent_t event = nullptr;
            error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
            free_marks_.push_back(marks_.size());
            marks_.push_back(event);
        }
        const auto mark = free_marks_.back();
        free_marks_.pop_back();
        if (error == cudaSuccess) error = cudaEventRecord(marks_[mark], stream);
        if (error != cudaSuccess) mark_error_ = error;
        return mark;
    }

    NcclAnswer issue_one(const Call& call) {
        if (call.operation != Operation::barrier)
            return comm::issue(call, options_.size, communicator_, stream_);
        auto* one = static_cast<std::byte*>(for_barrier_);
        return comm::issue({.operation = Operation::allreduce,
                            .element = DataType::int32,
                            .send = one,
                            .receive = one,
                            .count = 1},
                           options_.size, communicator_, stream_);
    }

    NcclPortOptions options_;
    std::vector<NcclUniqueId> ids_;
    cudaStream_t compute_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t ready_ = nullptr;  ///< of captured operations
    void* for_barrier_ = nullptr;
    ncclComm_t communicator_ = nullptr;
    std::vector<cudaEvent_t> marks_;
    std::vector<std::size_t> free_marks_;
    std::size_t before_ = 0;
    std::vector<cudaEvent_t> forked_;
    cudaError_t mark_error_ = cudaSuccess;
    bool ended_ = false;
};

}  // namespace

std::unique_ptr<NcclPort> nccl_gpu_port(const NcclPortOptions& options, std::vector<NcclUniqueId> ids) {
    return std::make_unique<GpuPort>(options, std::move(ids));
}

}  // namespace dtrain::comm
