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

/// A GPU that computes what it is given in that order, while the caller goes on: one stream of it. What is
/// passed to it stays as it is until finish(), or another promise that it has been read. Use from one thread.
class Gpu {
  public:
    using Memory = std::shared_ptr<std::byte>;

    virtual ~Gpu() = default;

    /// "GPU 0, NVIDIA H200"
    virtual std::string description() const = 0;

    /// Of CUDA; what others give to the GPU is put in order with it.
    virtual void* stream() const = 0;

    /// Zeros on the GPU, aligned to 256 bytes; freed with their last owner, which must be gone before this.
    /// @throws Error when there is not enough, with the bytes that are free
    virtual Memory allocate(std::size_t bytes) = 0;

    /// Zeros of this process that the GPU reads and writes by itself.
    virtual Memory allocate_host(std::size_t bytes) = 0;

    virtual void to_gpu(void* to, const void* from, std::size_t bytes) = 0;
    virtual void to_host(void* to, const void* from, std::size_t bytes) = 0;
    virtual void copy(void* to, const void* from, std::size_t bytes) = 0;

    virtual bool has_kernel(std::string_view operator_type) const = 0;

    /// For tensors on the GPU. Its run() returns at once, and whatever the data are: finish() tells.
    /// @throws Error when there is no kernel for this operator, or not for these tensors
    virtual std::unique_ptr<Kernel> make_kernel(std::string_view operator_type,
                                                const KernelArguments& arguments) = 0;

    /// Element-wise operators that follow each other, of tensors of one size, in one pass over memory; or
    /// some that program/joined_operators.hpp finds.
    /// @param inner tells by a tensor's memory that nobody else reads it: nothing is stored there
    virtual std::unique_ptr<Kernel> make_chain_kernel(const std::vector<ChainLink>& links,
                                                      const std::set<const void*>& inner) = 0;

    /// All that `give` gives to the GPU, which it does not compute now, but at each run() of what is
    /// returned.
    virtual std::unique_ptr<Kernel> captured(const std::function<void()>& give) = 0;

    /// For who counts what a step costs.
    struct Copies {
        std::size_t count = 0;
        std::size_t bytes = 0;

        void add(std::size_t copied) {
            ++count;
            bytes += copied;
        }
    };
    struct Given {
        Copies up;    ///< from this process' memory; what is captured counts once
        Copies down;  ///< to it
        std::size_t graphs_run = 0;
        std::vector<std::string> last_captured;  ///< the parts of the last graph: kernels, copies
    };
    const Given& given() const { return given_; }

    /// Waits until all has been computed.
    /// @throws Error when data could not be, as the operator's CPU kernel does: updates since then changed
    /// nothing. Error of CUDA, after which nothing works any longer
    virtual void finish() = 0;

    /// A way to the GPU beside the stream, for the next batch while it computes with this one.
    class Uploads {
      public:
        virtual ~Uploads() = default;

        /// Once what the stream was given before the last release() has been computed.
        virtual void to_gpu(void* to, const void* from, std::size_t bytes) = 0;
        /// What the stream is given from now on waits for the uploads up to now.
        virtual void take() = 0;
        /// What the stream was given up to now is all that reads what has been uploaded.
        virtual void release() = 0;
        /// Waits until all uploads have been read from this process' memory.
        virtual void finish() = 0;
    };
    virtual std::unique_ptr<Uploads> uploads() = 0;

    /// Called before somebody waits for the GPU, who would otherwise wait for ever for ranks that do not
    /// come; as long as there is an owner of what is returned. What it throws is thrown there.
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

/// @param number as this process sees them (CUDA_VISIBLE_DEVICES)
/// @throws UsageError when dtrain was built without CUDA or there is no such GPU, with the reason
std::shared_ptr<Gpu> open_gpu(int number);

/// Opens none. @throws UsageError when dtrain was built without CUDA or this machine has no GPU or no driver,
/// with the reason
void check_gpus();

}  // namespace dtrain::kernels
