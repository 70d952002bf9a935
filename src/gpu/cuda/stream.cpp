// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/stream.hpp"

#include "gpu/cuda/check.hpp"
#include "gpu/cuda/handles.hpp"
#include "gpu/event.hpp"

namespace dtrain::gpu {
namespace {

cudaEvent_t event(void* handle) {
    return static_cast<cudaEvent_t>(handle);
}

}  // namespace

Stream::Stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    handle_ = stream;
}

Stream::~Stream() {
    cudaStreamDestroy(cuda(*this));
}

void Stream::finish() const {
    check(cudaStreamSynchronize(cuda(*this)), "what it was given");
}

Event::Event() {
    cudaEvent_t made = nullptr;
    check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    handle_ = made;
}

Event::~Event() {
    cudaEventDestroy(event(handle_));
}

void Event::set(const Stream& stream) {
    check(cudaEventRecord(event(handle_), cuda(stream)), "cudaEventRecord");
}

void Event::hold(const Stream& stream) const {
    check(cudaStreamWaitEvent(cuda(stream), event(handle_), 0), "cudaStreamWaitEvent");
}

void Event::wait() const {
    check(cudaEventSynchronize(event(handle_)), "what it was given");
}

}  // namespace dtrain::gpu
