// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "spawn/spawn_request.hpp"

#include <cstdlib>
#include <exception>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/environment.hpp>
#include <dtrain/error.hpp>

#include "base/error_file.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain::spawning {
namespace {

std::optional<SpawnRequest> take_request() {
    const auto text = Environment::of_this_process().get(request_variable);
    if (!text) return std::nullopt;
    ::unsetenv(request_variable);
    return SpawnRequest::parse(*text);
}

[[noreturn]] void fail(const SpawnRequest& request, const RankError& error) {
    leave_failure(request, error);
    std::exit(1);
}

}  // namespace

std::string SpawnRequest::to_text() const {
    return fmt::format("{}:{}", call, folder.path().string());
}

SpawnRequest SpawnRequest::parse(const std::string& text) {
    const auto colon = text.find(':');
    const auto call = parse_int<std::size_t>(text.substr(0, colon));
    if (colon == std::string::npos || !call)
        throw UsageError(
            fmt::format("{} is '{}', which spawn() has not written; unset it", request_variable, text));
    return {*call, SpawnFolder(text.substr(colon + 1))};
}

const std::optional<SpawnRequest>& request_of_this_process() {
    static const auto request = take_request();
    return request;
}

int spawned_rank() {
    return Environment::of_this_process().get_int("PADDLE_TRAINER_ID").value_or(0);
}

void leave_failure(const SpawnRequest& request, const RankError& error) {
    const int rank = spawned_rank();
    request.folder.write_failure(rank, error.message);
    write_all(STDERR_FILENO, fmt::format("dtrain: rank {}: {}\n", rank, error.message));
    report_error(error);
}

void run_as_rank(const SpawnRequest& request, const std::function<std::string(const std::string&)>& run) {
    try {
        request.folder.write_result(spawned_rank(), run(request.folder.arguments()));
    } catch (const std::exception& thrown) {
        fail(request, error_of(thrown));
    } catch (...) {
        fail(request, {.message = "an exception that is no std::exception"});
    }
    std::exit(0);
}

}  // namespace dtrain::spawning
