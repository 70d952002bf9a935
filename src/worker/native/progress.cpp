// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/progress.hpp"

#include <string>

namespace dtrain::native {

using namespace std::chrono_literals;
using report::progress_text;

ProgressLine::ProgressLine(const Console& console, bool shows, Clock::time_point now) : console_(console) {
    if (shows && console.talks()) next_ = now + between();
}

std::chrono::milliseconds ProgressLine::between() const {
    if (console_.status_line()->on_terminal()) return 200ms;
    return 60s;
}

void ProgressLine::show(const Progress& progress, Clock::time_point now) {
    next_ = now + between();
    auto& line = *console_.status_line();
    if (line.on_terminal())
        line.show(progress_text(progress, line.width()));
    else
        console_.print(progress_text(progress, std::string::npos) + "\n");
}

}  // namespace dtrain::native
