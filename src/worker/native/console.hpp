// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <unistd.h>
#include <utility>

#include "base/files.hpp"

namespace dtrain::native {

/// One rank of the job talks.
class Console {
  public:
    Console(std::string program, bool talks) : program_(std::move(program)), talks_(talks) {}

    void print(const std::string& text) const {
        if (!talks_) return;
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }
    void complain(const std::string& text) const {
        if (talks_) write_all(STDERR_FILENO, program_ + ": " + text + "\n");
    }

    /// The same program's, on another rank.
    Console on(bool talks) const { return {program_, talks}; }

  private:
    std::string program_;
    bool talks_;
};

}  // namespace dtrain::native
