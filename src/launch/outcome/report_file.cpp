// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/outcome/report_file.hpp"

#include <system_error>

#include "base/files.hpp"
#include "base/log.hpp"
#include "metrics/outputs.hpp"

namespace dtrain::launch {

void check_report_file(const std::string& file) {
    metrics::check_may_replace("--report", file);
}

void write_report_file(const std::string& file, const std::string& text, mode_t mode) {
    try {
        replace_file(file, text, mode);
    } catch (const std::system_error& error) {
        log_error("--report: {}", error.what());
    }
}

}  // namespace dtrain::launch
