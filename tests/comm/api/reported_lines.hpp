// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "support/temporary_folder.hpp"

namespace dtrain::tests {

/// What the ranks of a scenario tell the test that started them, a file of each: mpirun ends all ranks as
/// soon as one leaves with a status, and what others have on their way to stderr then may be lost.
class ReportedLines {
  public:
    static constexpr const char* variable = "DTRAIN_TEST_TOLD";  ///< the folder, of the test

    explicit ReportedLines(int rank) : rank_(rank) {}

    void add(const std::string& line) { text_ += line + "\n"; }

    /// All that this rank tells is there.
    void end() const {
        const auto path = std::filesystem::path(folder()) / std::to_string(rank_);
        write_bytes(path.string() + unfinished, text_);
        std::filesystem::rename(path.string() + unfinished, path);
    }

    /// The first rank leaves when so many have ended, or some do not come; the others let it do so.
    void leave_together(int ranks) const {
        const auto backoff = std::chrono::seconds(rank_ == 0 ? 20 : 30);
        const auto end = std::chrono::steady_clock::now() + backoff;
        while (std::chrono::steady_clock::now() < end && (rank_ != 0 || ended() < ranks))
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }

    /// Of all ranks.
    static std::string in(const std::filesystem::path& folder) {
        std::string text;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) text += bytes_of(entry.path());
        return text;
    }

  private:
    static constexpr const char* unfinished = ".unfinished";

    static std::string folder() { return std::getenv(variable); }

    static int ended() {
        return static_cast<int>(
            std::ranges::count_if(std::filesystem::directory_iterator(folder()),
                                  [](const auto& entry) { return entry.path().extension() != unfinished; }));
    }

    int rank_;
    std::string text_;
};

}  // namespace dtrain::tests
