// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/stream.hpp"

namespace dtrain::gpu {

struct Work {
    std::string name;
    std::function<void()> run;
};

/// What a stream of the processor was given.
struct StreamWork {
    std::deque<Work> waiting;
    std::size_t done = 0;
    std::vector<Work>* recorded = nullptr;  ///< where it goes while it is recorded

    /// Up to so many in all since the stream was made.
    void run_until(std::size_t end);
};

/// Shared with the marks of the stream, which may live longer.
using OwnedWork = std::shared_ptr<StreamWork>;

inline const OwnedWork& owned_work_of(const Stream& stream) {
    return *static_cast<OwnedWork*>(stream.handle());
}

inline StreamWork& work_of(const Stream& stream) {
    return *owned_work_of(stream);
}

}  // namespace dtrain::gpu
