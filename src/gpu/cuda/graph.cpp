// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/graph.hpp"

#include "gpu/cuda/check.hpp"
#include "gpu/cuda/handles.hpp"

namespace dtrain::gpu {
namespace {

std::string name_of(cudaGraphNode_t node) {
    cudaGraphNodeType type{};
    check(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    if (type != cudaGraphNodeTypeKernel)
        return type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset ? "copy" : "other";
#if CUDART_VERSION >= 12030
    cudaKernelNodeParams kernel{};
    const char* name = nullptr;
    if (cudaGraphKernelNodeGetParams(node, &kernel) == cudaSuccess &&
        cudaFuncGetName(&name, kernel.func) == cudaSuccess && name != nullptr)
        return name;
    cudaGetLastError();  // kernels of libraries may have no name; clears the error
#endif
    return "kernel";
}

}  // namespace

struct Graph::Content {
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

Graph::Graph(const Stream& stream, const std::function<void()>& give)
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

Graph::~Graph() = default;

std::vector<std::string> Graph::parts() const {
    std::size_t count = 0;
    check(cudaGraphGetNodes(content_->graph, nullptr, &count), "cudaGraphGetNodes");
    std::vector<cudaGraphNode_t> nodes(count);
    if (count > 0) check(cudaGraphGetNodes(content_->graph, nodes.data(), &count), "cudaGraphGetNodes");
    std::vector<std::string> names;
    for (auto* const node : nodes) names.push_back(name_of(node));
    return names;
}

void Graph::run(const Stream& stream) const {
    check(cudaGraphLaunch(content_->runnable, cuda(stream)), "cudaGraphLaunch");
}

}  // namespace dtrain::gpu
