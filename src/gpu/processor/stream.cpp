// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/stream.hpp"

#include <limits>
#include <utility>

#include "gpu/mark.hpp"
#include "gpu/processor/launch.hpp"
#include "gpu/processor/work.hpp"

namespace dtrain::gpu {

// A GPU computes while the caller goes on, who must not notice when: all is put off until somebody waits.
Stream::Stream() : handle_(new OwnedWork(std::make_shared<StreamWork>())) {}

Stream::~Stream() {
    delete &owned_work_of(*this);
}

void Stream::finish() const {
    work_of(*this).run_until(std::numeric_limits<std::size_t>::max());
}

void give(const Stream& stream, std::function<void()> work) {
    auto& own = work_of(stream);
    if (own.recorded != nullptr)
        own.recorded->push_back(std::move(work));
    else
        own.waiting.push_back(std::move(work));
}

void StreamWork::run_until(std::size_t end) {
    while (done < end && !waiting.empty()) {
        const auto next = std::move(waiting.front());
        waiting.pop_front();
        next();
        ++done;
    }
}

namespace {

struct Point {
    OwnedWork work = nullptr;
    std::size_t end = 0;

    void reach() const {
        if (work) work->run_until(end);
    }
};

Point& point(void* handle) {
    return *static_cast<Point*>(handle);
}

}  // namespace

Mark::Mark() : handle_(new Point) {}

Mark::~Mark() {
    delete &point(handle_);
}

void Mark::set(const Stream& stream) {
    const auto& work = owned_work_of(stream);
    point(handle_) = {work, work->done + work->waiting.size()};
}

void Mark::hold(const Stream& stream) const {
    give(stream, [at = point(handle_)] { at.reach(); });
}

void Mark::wait() const {
    point(handle_).reach();
}

}  // namespace dtrain::gpu
