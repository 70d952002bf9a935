// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/chain_link.hpp"
#include "kernels/kernel.hpp"

namespace dtrain::kernels {

/// A GPU with one stream that executes enqueued work in order, asynchronously to the caller. Memory passed to
/// it must not change until finish(), or another function that promises that it has been read. Use from one
/// thread.
class Gpu {
  public:
    using Memory = std::shared_ptr<std::byte>;

    virtual ~Gpu() = default;

    /// "GPU 0, NVIDIA H200"
    virtual std::string description() const = 0;

    /// CUDA stream; work that others enqueue there is ordered with this object's work.
    virtual void* stream() const = 0;

    /// Zero-initialised GPU memory, aligned to 256 bytes; freed with its last owner, which must not outlive
    /// this object. @throws Error if there is not enough, with the number of free bytes
    virtual Memory allocate(std::size_t bytes) = 0;

    /// Zero-initialised pinned host memory, which the GPU can read and write.
    virtual Memory allocate_host(std::size_t bytes) = 0;

    virtual void to_gpu(void* to, const void* from, std::size_t bytes) = 0;
    virtual void to_host(void* to, const void* from, std::size_t bytes) = 0;
    virtual void copy(void* to, const void* from, std::size_t bytes) = 0;

    virtual bool has_kernel(std::string_view operator_type) const = 0;

    /// For tensors on the GPU. Its run() returns at once, whatever the data are: errors are reported by
    /// finish(). @throws Error if there is no kernel for this operator, or not for these tensors
    virtual std::unique_ptr<Kernel> make_kernel(std::string_view operator_type,
                                                const KernelArguments& arguments) = 0;

    /// Consecutive element-wise operators over tensors of one size, in one pass over memory; or operators
    /// found by program/passes/joined_operators.hpp.
    /// @param inner memory of tensors that nothing else reads: nothing is stored there
    virtual std::unique_ptr<Kernel> make_chain_kernel(const std::vector<ChainLink>& links,
                                                      const std::set<const void*>& inner) = 0;

    /// Captures everything that `give` enqueues; it is not executed now, but at each run() of the result.
    virtual std::unique_ptr<Kernel> captured(const std::function<void()>& give) = 0;

    /// Statistics for measuring what a step costs.
    struct Copies {
        std::size_t count = 0;
        std::size_t bytes = 0;

        void add(std::size_t copied) {
            ++count;
            bytes += copied;
        }
    };
    struct Given {
        Copies up;    ///< from host memory; what is captured counts once
        Copies down;  ///< to host memory
        std::size_t graphs_run = 0;
        std::vector<std::string> last_captured;  ///< the parts of the last captured graph: kernels, copies
    };
    const Given& given() const { return given_; }

    /// Waits until everything has been computed. @throws Error for invalid data, as the operator's CPU kernel
    /// does: updates after the error have had no effect. Error of CUDA, after which the GPU can no longer be
    /// used
    virtual void finish() = 0;

    /// A separate stream for uploads, which transfers the next batch while the GPU computes the current one.
    class Uploads {
      public:
        virtual ~Uploads() = default;

        /// Starts once everything enqueued before the last release() has been computed.
        virtual void to_gpu(void* to, const void* from, std::size_t bytes) = 0;
        /// Makes work enqueued from now on wait for the uploads so far.
        virtual void take() = 0;
        /// Declares that only work enqueued so far reads what has been uploaded.
        virtual void release() = 0;
        /// Waits until the host memory of all uploads has been read.
        virtual void finish() = 0;
    };
    virtual std::unique_ptr<Uploads> uploads() = 0;

    /// `poll` is called before each wait for the GPU, which could otherwise wait for ever for ranks that do
    /// not arrive; as long as the returned pointer has an owner. Its exceptions are thrown from the wait.
    std::shared_ptr<void> poll_before_waits(std::function<void()> poll) {
        auto shared = std::make_shared<std::function<void()>>(std::move(poll));
        polls_.push_back(shared);
        return shared;
    }

  protected:
    void poll() {
        std::erase_if(polls_, [](const auto& each) { return each.expired(); });
        for (const auto& each : std::vector(polls_))
            if (const auto held = each.lock()) (*held)();
    }

    Given given_;

  private:
    std::vector<std::weak_ptr<std::function<void()>>> polls_;
};

/// @param number among the GPUs that this process sees (CUDA_VISIBLE_DEVICES) @throws UsageError if dtrain
/// was built without CUDA or there is no such GPU, with the reason
std::shared_ptr<Gpu> open_gpu(int number);

/// Does not open a GPU. @throws UsageError if dtrain was built without CUDA or this machine has no GPU or no
/// driver, with the reason
void check_gpus();

}  // namespace dtrain::kernels
