// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/hang_options.hpp"

#include <dtrain/error.hpp>

namespace dtrain::launch {

cluster::HangLimit hang_limit_of(const Options& options) {
    return options.hang_timeout.value_or(cluster::learned_hang_limit);
}

OnHang on_hang_of(const Options& options) {
    return options.on_hang.value_or(options.hang_timeout ? OnHang::stop : OnHang::report);
}

bool stops_a_job(OnHang what) {
    return what == OnHang::stop || what == OnHang::restart;
}

void refuse_restarts_without_number(const Options& options, bool is_elastic) {
    if (options.on_hang == OnHang::restart && !is_elastic && options.max_restart.value_or(0) == 0)
        throw UsageError("--on-hang restart needs --max_restart: how often the job may be started again");
}

}  // namespace dtrain::launch
