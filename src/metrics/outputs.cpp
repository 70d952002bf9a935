// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/outputs.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"

namespace dtrain::metrics {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& file, int code, const char* advice) {
    throw UsageError(fmt::format("{} {} cannot be written: {}; {}", option, file,
                                 std::generic_category().message(code), advice));
}

void check_may_add(const std::string& option, const std::string& file) {
    std::error_code no_such_file;
    if (!std::filesystem::exists(file, no_such_file)) return check_may_replace(option, file);
    if (std::filesystem::is_directory(file, no_such_file)) refuse(option, file, EISDIR, "name a file");
    if (::access(file.c_str(), W_OK) != 0) refuse(option, file, errno, "choose another file");
}

}  // namespace

void check_may_replace(const std::string& option, const std::string& file) {
    std::error_code no_such_file;
    const auto state = std::filesystem::status(file, no_such_file);
    if (file.empty() || file.ends_with('/') ||
        (std::filesystem::exists(state) && !std::filesystem::is_regular_file(state)))
        throw UsageError(
            fmt::format("{} \"{}\" is no regular file; name one that may be replaced", option, file));
    auto pattern = file + ".XXXXXX";
    const FileDescriptor probe(::mkostemp(pattern.data(), O_CLOEXEC));
    if (!probe.valid()) refuse(option, file, errno, "choose another folder");
    ::unlink(pattern.c_str());
}

void check_outputs(const Outputs& outputs) {
    if (outputs.metrics) check_may_add("--metrics", outputs.metrics->string());
    if (outputs.page) check_may_replace("--report", outputs.page->string());
    if (outputs.tensorboard)
        if (const auto failed = make_writable_folder(*outputs.tensorboard))
            refuse("--tensorboard", outputs.tensorboard->string(), failed.value(), "choose another folder");
}

}  // namespace dtrain::metrics
