// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

#include "base/error_file.hpp"
#include "base/files.hpp"
#include "base/status_line.hpp"

namespace dtrain::native {

/// Prints for the job on one rank; silent on all others.
class Console {
  public:
    Console(std::string program, bool talks) : program_(std::move(program)), talks_(talks) {
        if (talks) line_ = std::make_shared<StatusLine>(StatusLine::on_output());
    }

    void print(const std::string& text) const {
        if (!talks_) return;
        line_->clear();
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }
    void complain(const std::string& text) const {
        if (!talks_) return;
        line_->clear();
        write_all(STDERR_FILENO, program_ + ": " + text + "\n");
    }

    /// Complains about what ends the job, and leaves it for dtrain-launch's report.
    void fail(RankError error) const {
        if (!talks_) return;
        complain(error.message);
        error.for_all = true;
        report_error(std::move(error));
    }

    bool talks() const { return talks_; }

    /// At the bottom of the terminal, until something else is printed; null on silent ranks.
    const std::shared_ptr<StatusLine>& status_line() const { return line_; }

    /// The console of the same program on another rank.
    Console on(bool talks) const { return {program_, talks}; }

  private:
    std::string program_;
    bool talks_;
    std::shared_ptr<StatusLine> line_;
};

}  // namespace dtrain::native
