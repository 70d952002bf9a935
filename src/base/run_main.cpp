// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <dtrain/error.hpp>
#include <dtrain/run_main.hpp>

#include "base/error_file.hpp"
#include "base/exit_status.hpp"
#include "base/files.hpp"
#include "base/redact.hpp"

namespace dtrain {
namespace {

/// If the caller closed one of the standard streams, the next opened file would replace it.
void open_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(stream, F_GETFD) < 0) FileDescriptor(::open("/dev/null", O_RDWR)).release();
}

}  // namespace

int run_main(const std::string& program, const std::function<int()>& body) {
    const auto fail = [&](const RankError& error) {
        const auto name = std::filesystem::path(program).filename().string();
        write_all(STDERR_FILENO, name + ": " + redacted_text(error.message) + "\n");
        report_error(error);
    };
    open_standard_streams();
    try {
        return body();
    } catch (const UsageError& error) {
        fail(error_of(error));
        return status_usage;
    } catch (const std::exception& error) {
        fail(error_of(error));
    } catch (...) {
        fail({.message = "an exception that is no std::exception"});
    }
    return status_failed;
}

}  // namespace dtrain
