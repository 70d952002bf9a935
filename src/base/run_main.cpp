// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/run_main.hpp"

#include <exception>
#include <unistd.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"

namespace dtrain {

int run_main(const std::string& program, const std::function<int()>& body) {
    const auto complain = [&](const std::exception& error) {
        write_all(STDERR_FILENO, program + ": " + error.what() + "\n");
    };
    try {
        return body();
    } catch (const UsageError& error) {
        complain(error);
        return status_usage;
    } catch (const std::exception& error) {
        complain(error);
        return status_failed;
    }
}

}  // namespace dtrain
