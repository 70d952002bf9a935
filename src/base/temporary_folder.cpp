// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/temporary_folder.hpp"

#include <array>
#include <cerrno>
#include <string_view>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/paths_in.hpp"

namespace dtrain {
namespace {

constexpr std::string_view prefix = "dtrain.";
constexpr const char* mark = ".owner";
constexpr std::string_view max_socket = "/dtrain.XXXXXX/control";
constexpr std::size_t max_folder = sizeof(sockaddr_un::sun_path) - 1 - max_socket.size();

struct NamedFolder {
    std::string path = "/tmp";
    std::string variable;  ///< the variable that names it; "": none
};

NamedFolder named_folder(const Environment& environment) {
    for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
        if (auto value = environment.get_or(name, ""); !value.empty())
            return {.path = std::move(value), .variable = name};
    return {};
}

}  // namespace

std::filesystem::path temporary_directory(const Environment& environment) {
    const auto folder = named_folder(environment);
    const auto name = folder.variable.empty() ? folder.path : folder.variable + "=" + folder.path;
    const auto& variable = folder.variable.empty() ? "TMPDIR" : folder.variable;
    std::error_code error;
    const bool is_folder = std::filesystem::is_directory(folder.path, error);
    if (!is_folder || ::access(folder.path.c_str(), W_OK | X_OK) != 0)
        throw UsageError(
            fmt::format("{}: temporary files cannot be made there: {}; make that folder, or set {} to one "
                        "that can be written",
                        name,
                        std::generic_category().message(error       ? error.value()
                                                        : is_folder ? errno
                                                                    : ENOTDIR),
                        variable));
    if (folder.path.size() > max_folder)
        throw UsageError(
            fmt::format("{}: these are {} letters, and sockets there have a name with at most {}; set {} "
                        "to a shorter one, such as /tmp",
                        name, folder.path.size(), max_folder, variable));
    return folder.path;
}

TemporaryFolder::TemporaryFolder() : TemporaryFolder(temporary_directory(Environment::of_this_process())) {}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) : folder_(parent, prefix, mark) {}

int remove_abandoned_folders(const std::filesystem::path& parent) {
    int removed = 0;
    for (const auto& path : paths_in(parent))
        if (remove_abandoned_folder(path)) ++removed;
    return removed;
}

bool remove_abandoned_folder(const std::filesystem::path& folder) {
    return folder.filename().string().starts_with(prefix) && remove_if_abandoned(folder, mark);
}

}  // namespace dtrain
