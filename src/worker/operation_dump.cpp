// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/operation_dump.hpp"

#include <chrono>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/files.hpp"
#include "trace/operation_listing.hpp"
#include "trace/read_operation_log.hpp"

namespace dtrain::worker {
namespace {

constexpr const char* none = "this program records no operations\n";

std::string time_now() {
    return fmt::format(
        "{:%F %T}", fmt::localtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::string listing_of(const std::filesystem::path& operations) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    std::string out;
    if (operations.empty()) return none;
    for (const auto& file : trace::operation_logs_of(operations))
        out += fmt::format("process {}, at {}:\n{}", file.stem().string(), time_now(),
                           trace::operation_listing(trace::operations_in_log(file, now)));
    return out.empty() ? none : out;
}

}  // namespace

std::string dump_operations(const std::filesystem::path& operations, const std::filesystem::path& file,
                            mode_t mode) {
    try {
        replace_file_without_sync(file, listing_of(operations), mode);
        return {};
    } catch (const std::system_error& error) {
        return error.what();
    }
}

void append_torch_operations(const std::map<pid_t, trace::TorchRecord>& records,
                             const std::filesystem::path& file, mode_t mode) {
    std::string out;
    for (const auto& [pid, record] : records)
        if (!record.all.empty())
            out += fmt::format("process {}, as {} has recorded it, at {}:\n{}", pid, record.recorder,
                               time_now(), trace::operation_listing(record.all));
    if (out.empty()) return;
    const auto before = read_file(file).value_or("");
    try {
        replace_file_without_sync(file, (before == none ? "" : before) + out, mode);
    } catch (const std::system_error&) {
        // dump_operations() has told why the file cannot be written; the stacks are still to come.
    }
}

}  // namespace dtrain::worker
