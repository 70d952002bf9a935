// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/stream.hpp"

#include <cstdlib>
#include <cxxabi.h>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "gpu/event.hpp"
#include "gpu/processor/launch.hpp"
#include "gpu/processor/work.hpp"

namespace dtrain::gpu {

// A GPU computes asynchronously, and callers must not depend on when: all work is deferred until somebody
// waits.
Stream::Stream() : handle_(new OwnedWork(std::make_shared<StreamWork>())) {}

Stream::~Stream() {
    delete &owned_work_of(*this);
}

void Stream::finish() const {
    work_of(*this).run_until(std::numeric_limits<std::size_t>::max());
}

std::string name_of(const std::type_info& body) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> whole(
        abi::__cxa_demangle(body.name(), nullptr, nullptr, &status), &std::free);
    std::string name = status == 0 ? whole.get() : body.name();
    for (const std::string space : {"dtrain::gpu::", "(anonymous namespace)::"})
        for (auto at = name.find(space); at != std::string::npos; at = name.find(space))
            name.erase(at, space.size());
    return name;
}

void give(const Stream& stream, std::string name, std::function<void()> run) {
    auto& own = work_of(stream);
    Work work{std::move(name), [run = std::move(run)] {
                  run();
                  return true;
              }};
    if (own.captured != nullptr)
        own.captured->push_back(std::move(work));
    else
        own.waiting.push_back(std::move(work));
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

Event::Event() : handle_(new Point) {}

Event::~Event() {
    delete &point(handle_);
}

void Event::set(const Stream& stream) {
    const auto& work = owned_work_of(stream);
    point(handle_) = {work, work->done + work->waiting.size()};
}

void Event::hold(const Stream& stream) const {
    give(stream, "wait", [at = point(handle_)] { at.reach(); });
}

void Event::wait() const {
    point(handle_).reach();
}

}  // namespace dtrain::gpu
