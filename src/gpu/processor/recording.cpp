// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/recording.hpp"

#include "gpu/processor/work.hpp"

namespace dtrain::gpu {

struct Recording::Content {
    std::vector<Work> work;
};

Recording::Recording(const Stream& stream, const std::function<void()>& give)
    : content_(std::make_unique<Content>()) {
    auto& recorded = work_of(stream).recorded;
    recorded = &content_->work;
    try {
        give();
    } catch (...) {
        recorded = nullptr;
        throw;
    }
    recorded = nullptr;
}

Recording::~Recording() = default;

void Recording::run(const Stream& stream) const {
    auto& waiting = work_of(stream).waiting;
    waiting.insert(waiting.end(), content_->work.begin(), content_->work.end());
}

std::vector<std::string> Recording::parts() const {
    std::vector<std::string> names;
    for (const auto& work : content_->work) names.push_back(work.name);
    return names;
}

}  // namespace dtrain::gpu
