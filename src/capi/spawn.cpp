// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <dtrain/c_api.h>
#include <dtrain/spawn.hpp>

#include "capi/guarded.hpp"
#include "spawn/spawn_request.hpp"
#include "spawn/spawned_ranks.hpp"
#include "spawn/start_ranks.hpp"

namespace dtrain::capi {
namespace {

/// Opens what the library keeps for C++ to the functions below.
class Ranks : public SpawnedRanks {
  public:
    explicit Ranks(std::shared_ptr<State> state) : SpawnedRanks(state), folder_(state->folder()) {}

    using SpawnedRanks::result_bytes;
    const std::string& folder() const { return folder_; }

  private:
    std::string folder_;
};

/// Those that still run when the process ends are stopped by the end of this object.
struct Started {
    std::mutex mutex;
    std::map<dtrain_spawned, std::shared_ptr<Ranks>> all;
    dtrain_spawned calls = 0;
};

Started& started() {
    static Started only;
    return only;
}

/// A copy: they may be waited for in one thread while another one starts some.
std::shared_ptr<Ranks> find(dtrain_spawned ranks) {
    const std::lock_guard lock(started().mutex);
    const auto found = started().all.find(ranks);
    if (found == started().all.end())
        throw UsageError(fmt::format("spawned ranks {}: there are none such, or they were freed", ranks));
    return found->second;
}

SpawnOptions options_of(const dtrain_spawn_options* named) {
    SpawnOptions options;
    if (named == nullptr) return options;
    options.nprocs = named->nprocs;
    if (named->gpus != nullptr) options.gpus = named->gpus;
    if (named->backend != nullptr) options.backend = named->backend;
    if (named->log_dir != nullptr) options.log_dir = named->log_dir;
    return options;
}

std::vector<std::string> command_of(const char* const* program) {
    std::vector<std::string> command;
    for (; *program != nullptr; ++program) command.emplace_back(*program);
    return command;
}

const spawning::SpawnRequest& own_request() {
    const auto& request = spawning::request_of_this_process();
    if (!request) throw UsageError("this process was not started by dtrain_spawn() (dtrain.spawn())");
    return *request;
}

std::string text_of(const void* data, std::size_t bytes) {
    return bytes == 0 ? std::string() : std::string(static_cast<const char*>(data), bytes);
}

}  // namespace
}  // namespace dtrain::capi

using dtrain::capi::own_request;
using dtrain::capi::without_exceptions;

int dtrain_spawn(const char* const* program, const void* arguments, size_t bytes,
                 const dtrain_spawn_options* options, dtrain_spawned* ranks, int* nprocs) {
    return without_exceptions([&] {
        auto made = std::make_shared<dtrain::capi::Ranks>(
            dtrain::spawning::start_ranks({.arguments = dtrain::capi::text_of(arguments, bytes),
                                           .command = dtrain::capi::command_of(program)},
                                          dtrain::capi::options_of(options)));
        auto& [mutex, all, calls] = dtrain::capi::started();
        const std::lock_guard lock(mutex);
        *nprocs = made->nprocs();
        *ranks = ++calls;
        all.emplace(calls, std::move(made));
    });
}

int dtrain_spawn_join(dtrain_spawned ranks, double timeout, int* have_ended) {
    return without_exceptions([&] {
        std::optional<std::chrono::milliseconds> limit;
        if (timeout >= 0)
            limit =
                std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(timeout));
        *have_ended = 1;  // if it throws, too
        *have_ended = dtrain::capi::find(ranks)->join(limit) ? 1 : 0;
    });
}

int dtrain_spawn_result(dtrain_spawned ranks, int rank, const void** data, size_t* bytes) {
    return without_exceptions([&] {
        const auto& results = dtrain::capi::find(ranks)->result_bytes();
        if (rank < 0 || rank >= std::ssize(results))
            throw dtrain::UsageError(fmt::format("result of rank {} of {}", rank, results.size()));
        const auto& result = results[static_cast<std::size_t>(rank)];
        *data = result.data();
        *bytes = result.size();
    });
}

int dtrain_spawn_folder(dtrain_spawned ranks, const char** path) {
    return without_exceptions([&] { *path = dtrain::capi::find(ranks)->folder().c_str(); });
}

int dtrain_spawn_free(dtrain_spawned ranks) {
    return without_exceptions([&] {
        auto ending = dtrain::capi::find(ranks);
        const std::lock_guard lock(dtrain::capi::started().mutex);
        dtrain::capi::started().all.erase(ranks);
    });
}

int dtrain_is_spawned(void) {
    return dtrain::is_spawned_rank() ? 1 : 0;
}

int dtrain_spawned_arguments(const void** data, size_t* bytes) {
    return without_exceptions([&] {
        static const std::string arguments = own_request().folder.arguments();
        *data = arguments.data();
        *bytes = arguments.size();
    });
}

int dtrain_spawned_folder(const char** path) {
    return without_exceptions([&] { *path = own_request().folder.path().c_str(); });
}

int dtrain_spawned_result(const void* data, size_t bytes) {
    return without_exceptions([&] {
        own_request().folder.write_result(dtrain::spawning::spawned_rank(),
                                          dtrain::capi::text_of(data, bytes));
    });
}

int dtrain_spawned_failure(const char* kind, const char* message) {
    return without_exceptions(
        [&] { dtrain::spawning::leave_failure(own_request(), {.kind = kind, .message = message}); });
}
