// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/recording.hpp"

#include "gpu/cuda/check.hpp"
#include "gpu/cuda/handles.hpp"

namespace dtrain::gpu {

struct Recording::Content {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;

    Content() = default;
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    ~Content() {
        if (runnable != nullptr) cudaGraphExecDestroy(runnable);
        if (graph != nullptr) cudaGraphDestroy(graph);
    }
};

Recording::Recording(const Stream& stream, const std::function<void()>& give)
    : content_(std::make_unique<Content>()) {
    check(cudaStreamBeginCapture(cuda(stream), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    try {
        give();
    } catch (...) {
        cudaStreamEndCapture(cuda(stream), &content_->graph);
        throw;
    }
    check(cudaStreamEndCapture(cuda(stream), &content_->graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&content_->runnable, content_->graph, 0), "cudaGraphInstantiate");
}

Recording::~Recording() = default;

void Recording::run(const Stream& stream) const {
    check(cudaGraphLaunch(content_->runnable, cuda(stream)), "cudaGraphLaunch");
}

}  // namespace dtrain::gpu
