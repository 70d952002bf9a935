// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/begin_log.hpp"

#include "base/log.hpp"

namespace dtrain::launch {

void begin_log(const ParsedOptions& parsed) {
    set_up_log("dtrain-launch");
    set_log_level(parsed.options.log_level);
    for (const auto& notice : parsed.notices) log_warning("{}", notice);
    for (const auto& hint : parsed.hints) log_info("{}", hint);
}

}  // namespace dtrain::launch
