// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <sched.h>
#include <string>
#include <vector>

#include "gpu/stream.hpp"

namespace dtrain::gpu {

struct Work {
    std::string name;
    std::function<bool()> advance;  ///< returns true once it is done
};

/// The work that was enqueued in a stream of the CPU stand-in.
struct StreamWork {
    std::deque<Work> waiting;
    std::size_t done = 0;
    std::vector<Work>* captured = nullptr;  ///< destination of work during a capture

    /// Executes work as far as possible, up to `end` in total since the stream was created; false if it could
    /// not get that far.
    bool advance(std::size_t end) {
        while (done < end && !waiting.empty()) {
            if (is_inside_ || !advance_first()) return false;
            waiting.pop_front();
            ++done;
        }
        return true;
    }

    void run_until(std::size_t end) {
        while (!advance(end)) ::sched_yield();
    }

  private:
    /// What fails stays the first: like a GPU's error it comes again to whoever waits.
    bool advance_first() {
        is_inside_ = true;
        try {
            const bool is_done = waiting.front().advance();
            is_inside_ = false;
            return is_done;
        } catch (...) {
            is_inside_ = false;
            throw;
        }
    }

    bool is_inside_ = false;  // in the first work item, which may advance other streams
};

/// Shared with the stream's events, which may live longer.
using OwnedWork = std::shared_ptr<StreamWork>;

inline const OwnedWork& owned_work_of(const Stream& stream) {
    return *static_cast<OwnedWork*>(stream.handle());
}

inline StreamWork& work_of(const Stream& stream) {
    return *owned_work_of(stream);
}

}  // namespace dtrain::gpu
