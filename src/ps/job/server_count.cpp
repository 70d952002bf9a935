// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/server_count.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "identity/endpoint_list.hpp"

namespace dtrain::ps {
namespace {

std::optional<std::string> wrong_role(const Environment& environment, int rank, int servers) {
    const auto role = environment.get_or("TRAINING_ROLE", "");
    const std::string expected = rank < servers ? "PSERVER" : "TRAINER";
    if (role == expected) return std::nullopt;
    return fmt::format(
        "TRAINING_ROLE of rank {} is {}, and with the {} servers of PADDLE_PSERVERS_IP_PORT_LIST it must be "
        "{}, as servers are the first ranks; start the job with dtrain-launch --server_num N --worker_num M",
        rank, role, servers, expected);
}

}  // namespace

int servers_of_launcher(const Environment& environment, const Communicator& world) {
    const auto list = environment.get("PADDLE_PSERVERS_IP_PORT_LIST");
    const bool has_roles = environment.has("TRAINING_ROLE") && list && !list->empty();
    const auto servers = has_roles ? static_cast<int>(cluster::parse_endpoint_list(*list).size()) : 0;
    throw_together(world, servers > 0 ? wrong_role(environment, world.rank(), servers) : std::nullopt);
    return servers;
}

int server_count(const ParameterServers& settings, int of_launcher, int ranks) {
    if (of_launcher == 0 && !settings.count)
        throw UsageError(fmt::format(
            "the model is to be trained with parameter servers, and none of the job's {} ranks is "
            "one: start it with dtrain-launch --server_num N --worker_num M, or set "
            "ParameterServers::count to how many serve",
            ranks));
    if (of_launcher != 0 && settings.count && *settings.count != of_launcher)
        throw UsageError(fmt::format("ParameterServers::count is {}, but the launcher started {} servers",
                                     *settings.count, of_launcher));
    return of_launcher != 0 ? of_launcher : *settings.count;
}

}  // namespace dtrain::ps
