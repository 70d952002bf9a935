// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What programs open, see kernels/gpu.hpp.
#include <dtrain/error.hpp>

#include "gpu/event.hpp"
#include "gpu/graph.hpp"
#include "gpu/machine.hpp"
#include "gpu/memory.hpp"
#include "gpu/operators.hpp"
#include "gpu/operators/joined.hpp"
#include "kernels/gpu.hpp"

namespace dtrain::gpu {
namespace {

class Captured final : public Kernel {
  public:
    Captured(const Stream& stream, const std::function<void()>& give, kernels::Gpu::Given& given)
        : stream_(stream), graph_(stream, give), given_(given) {
        given_.last_captured = graph_.parts();
    }

    void run() override {
        graph_.run(stream_);
        ++given_.graphs_run;
    }

  private:
    const Stream& stream_;
    Graph graph_;
    kernels::Gpu::Given& given_;
};

class UploadStream final : public kernels::Gpu::Uploads {
  public:
    UploadStream(const Stream& computing, kernels::Gpu::Copies& up) : computing_(computing), up_(up) {}

    void to_gpu(void* to, const void* from, std::size_t bytes) override {
        read_.hold(stream_);  // not in release(): so that finish() waits for no more than the uploads need
        gpu::to_gpu(stream_, to, from, bytes);
        up_.add(bytes);
    }
    void take() override {
        uploaded_.set(stream_);
        uploaded_.hold(computing_);
    }
    void release() override { read_.set(computing_); }
    void finish() override { stream_.finish(); }

  private:
    const Stream& computing_;
    kernels::Gpu::Copies& up_;
    Stream stream_;
    Event uploaded_;
    Event read_;
};

class OneGpu final : public kernels::Gpu {
  public:
    explicit OneGpu(int number) : name_(name_of_gpu(number)) {}

    std::string description() const override { return name_; }
    void* stream() const override { return context_.stream.handle(); }

    Memory allocate(std::size_t bytes) override { return gpu::allocate(bytes); }
    Memory allocate_host(std::size_t bytes) override { return gpu::allocate_host(bytes); }

    void to_gpu(void* to, const void* from, std::size_t bytes) override {
        gpu::to_gpu(context_.stream, to, from, bytes);
        given_.up.add(bytes);
    }
    void to_host(void* to, const void* from, std::size_t bytes) override {
        gpu::to_host(context_.stream, to, from, bytes);
        given_.down.add(bytes);
    }
    void copy(void* to, const void* from, std::size_t bytes) override {
        gpu::copy(context_.stream, to, from, bytes);
    }

    bool has_kernel(std::string_view operator_type) const override {
        return find_kernel(operator_type) != nullptr;
    }
    std::unique_ptr<Kernel> make_kernel(std::string_view operator_type,
                                        const KernelArguments& arguments) override {
        const auto make = find_kernel(operator_type);
        if (make == nullptr)
            throw Error("there is no GPU kernel for the operator '" + std::string(operator_type) +
                        "': compute on the CPU");
        return make(context_, arguments);
    }
    std::unique_ptr<Kernel> make_chain_kernel(const std::vector<kernels::ChainLink>& links,
                                              const std::set<const void*>& inner) override {
        auto joined = make_joined_kernel(context_, links);
        return joined ? std::move(joined) : gpu::make_chain_kernel(context_, links, inner);
    }
    std::unique_ptr<Kernel> captured(const std::function<void()>& give) override {
        return std::make_unique<Captured>(context_.stream, give, given_);
    }
    std::unique_ptr<Uploads> uploads() override {
        return std::make_unique<UploadStream>(context_.stream, given_.up);
    }

    void finish() override {
        poll();
        gpu::to_host(context_.stream, reported_.get(), context_.error.get(), sizeof(DeviceError::Content));
        context_.stream.finish();
        const auto error = *reinterpret_cast<const DeviceError::Content*>(reported_.get());
        if (error.kernel == 0) return;
        set_to_zero(context_.stream, context_.error.get(), sizeof(DeviceError::Content));
        throw Error(context_.texts.at(error.kernel)(error.position, error.value));
    }

  private:
    std::string name_;
    KernelContext context_;
    DeviceMemory reported_ = gpu::allocate_host(sizeof(DeviceError::Content));
};

}  // namespace
}  // namespace dtrain::gpu

extern "C" __attribute__((visibility("default"))) void dtrain_check_gpus() {
    dtrain::gpu::check_gpus();
}

extern "C" __attribute__((visibility("default"))) dtrain::kernels::Gpu* dtrain_open_gpu(int number) {
    dtrain::gpu::choose_gpu(number);
    return new dtrain::gpu::OneGpu(number);
}
