// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/report_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"

namespace dtrain::launch {

void check_report_file(const std::string& file) {
    std::error_code no_such_file;
    const auto state = std::filesystem::status(file, no_such_file);
    if (file.empty() || file.ends_with('/') ||
        (std::filesystem::exists(state) && !std::filesystem::is_regular_file(state)))
        throw UsageError(
            fmt::format("--report \"{}\" is no regular file; name one that may be replaced", file));
    auto pattern = file + ".XXXXXX";
    const FileDescriptor probe(::mkostemp(pattern.data(), O_CLOEXEC));
    if (!probe.valid())
        throw UsageError(fmt::format("--report {} cannot be written: {}; choose another folder", file,
                                     std::generic_category().message(errno)));
    ::unlink(pattern.c_str());
}

void write_report_file(const std::string& file, const std::string& json, mode_t mode) {
    try {
        replace_file(file, json, mode);
    } catch (const std::system_error& error) {
        spdlog::error("--report: {}", error.what());
    }
}

}  // namespace dtrain::launch
