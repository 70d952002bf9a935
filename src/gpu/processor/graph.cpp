// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/graph.hpp"

#include "gpu/processor/work.hpp"

namespace dtrain::gpu {

struct Graph::Content {
    std::vector<Work> work;
};

Graph::Graph(const Stream& stream, const std::function<void()>& give)
    : content_(std::make_unique<Content>()) {
    auto& captured = work_of(stream).captured;
    captured = &content_->work;
    try {
        give();
    } catch (...) {
        captured = nullptr;
        throw;
    }
    captured = nullptr;
}

Graph::~Graph() = default;

void Graph::run(const Stream& stream) const {
    auto& waiting = work_of(stream).waiting;
    waiting.insert(waiting.end(), content_->work.begin(), content_->work.end());
}

std::vector<std::string> Graph::parts() const {
    std::vector<std::string> names;
    for (const auto& work : content_->work) names.push_back(work.name);
    return names;
}

}  // namespace dtrain::gpu
