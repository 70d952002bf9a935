// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/progress.hpp"

#include <string>

namespace dtrain::native {

ProgressLine::ProgressLine(const Console& console, bool shows, Clock::time_point now) : console_(console) {
    if (shows && console.talks()) next_ = now + metrics::stands_for(*console.status_line());
}

void ProgressLine::show(const Progress& progress, Clock::time_point now) {
    auto& line = *console_.status_line();
    next_ = now + metrics::stands_for(line);
    metrics::show(progress, line, [this](const std::string& text) { console_.print(text); });
}

}  // namespace dtrain::native
