// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <dtrain/click_log.hpp>

#include "data/text_file.hpp"

namespace dtrain::data {

/// The samples of a click log, from the first line to the last. Errors are UsageErrors naming file and line.
class ClickStream {
  public:
    explicit ClickStream(const std::filesystem::path& path) : file_(path) {}
    ClickStream(const ClickStream&) = delete;
    ClickStream& operator=(const ClickStream&) = delete;
    virtual ~ClickStream() = default;

    /// Numbers per sample. Slots may be known only after the first sample.
    virtual std::int64_t integers() const = 0;
    virtual std::int64_t slots() const = 0;

    /// Appends the next sample to a log; false at the end of the file. Throws if the file has no sample.
    bool next(ClickLog& log) {
        const bool has_sample = append_next(log);
        if (!has_sample && is_empty_) file_.refuse("there is no sample in it");
        is_empty_ = false;
        return has_sample;
    }

    /// Offset in the file as stored, in bytes.
    std::int64_t bytes_read() const { return file_.bytes_read(); }

  protected:
    virtual bool append_next(ClickLog& log) = 0;

    InputFile file_;

  private:
    bool is_empty_ = true;
};

/// @throws UsageError as ClickLog::read
std::unique_ptr<ClickStream> open_clicks(const std::filesystem::path& file, const ClickLayout& layout);

}  // namespace dtrain::data
