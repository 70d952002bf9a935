// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/step_call.hpp"

#include <chrono>

#include <dtrain/error.hpp>

#include "base/subprocess.hpp"

namespace dtrain::worker {

bool notify_step(const std::string& step, const Environment& environment) {
    constexpr std::chrono::seconds answer_limit{10};
    try {
        return run_and_capture({.argv = {"scancel", "--signal=URG", step}, .environment = environment},
                               answer_limit)
            .status.success();
    } catch (const UsageError&) {
        return false;
    }
}

}  // namespace dtrain::worker
