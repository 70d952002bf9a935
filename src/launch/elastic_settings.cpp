// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/elastic_settings.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::launch {
namespace {

constexpr std::string_view etcd_scheme = "etcd://";
constexpr int paddles_restarts = 3;        // --max_restart of Paddle 2.4 and later
constexpr int timeout_without_range = 10;  // multiple of --elastic_timeout, as in Paddle

const std::string default_job = Options().job_id;

/// The etcd named by an option or variable.
struct Server {
    std::string_view option;
    std::string address;
    bool legacy = false;          ///< Paddle 2.2 and 2.3
    bool from_variables = false;  ///< which a platform may set for every job
};

std::optional<Server> server_in_variables(const Environment& environment) {
    if (environment.has("DTRAIN_JOB_TOKEN"))
        return std::nullopt;  // they describe the job that this process is a rank of
    Server out{.option = "PADDLE_ELASTIC_SERVER", .legacy = true, .from_variables = true};
    if (const auto server = environment.get(out.option)) {
        out.address = *server;
        return out;
    }
    out.option = "PADDLE_ELASTIC_ETCD_SERVICE_HOST";
    const auto host = environment.get(out.option);
    const auto port = environment.get("PADDLE_ELASTIC_ETCD_SERVICE_PORT");
    if (!host || !port) return std::nullopt;
    out.address = *host + ":" + *port;
    return out;
}

std::optional<Server> server_of(const Options& options, const Environment& environment) {
    const auto in_master = etcd_in_master(options);
    if (options.elastic_server && in_master)
        throw UsageError("--elastic_server and --master etcd:// both name the etcd; give one of them");
    if (in_master) return Server{.option = "--master", .address = *in_master};
    if (options.elastic_server)
        return Server{.option = "--elastic_server", .address = *options.elastic_server, .legacy = true};
    return server_in_variables(environment);
}

elastic::Level level_of(const Options& options, bool legacy) {
    if (options.elastic_level) return static_cast<elastic::Level>(*options.elastic_level);
    if (options.max_restart.value_or(0) > 0) return elastic::Level::again;
    return legacy ? elastic::Level::hold : elastic::Level::off;
}

/// Refuses options that need etcd, unless a variable has set them.
void refuse_without_etcd(const Options& options, const Environment& environment) {
    const auto refuse = [](std::string_view option) {
        throw UsageError(
            fmt::format("{} needs an etcd: --elastic_server host:port or --master etcd://host:port", option));
    };
    if (!options.np.empty() && !environment.has("PADDLE_ELASTIC_NP")) refuse("--np " + options.np);
    if (options.scale && !environment.has("PADDLE_ELASTIC_SCALE")) refuse("--scale " + *options.scale);
    if (options.force && !environment.has("PADDLE_ELASTIC_FORCE")) refuse("--force");
    if (options.elastic_pre_hook) refuse("--elastic_pre_hook " + *options.elastic_pre_hook);
}

void refuse_other_ways_to_name_nodes(const Options& options) {
    if (options.ips != Options().ips || options.hostfile)
        throw UsageError(fmt::format("{} names the nodes, and in an elastic job etcd does; give one of them",
                                     options.hostfile ? "--hostfile" : "--ips"));
}

bool is_only_arg(const Options& options, std::string_view arg) {
    return options.script == arg && options.script_arguments.empty();
}

}  // namespace

std::optional<std::string> etcd_in_master(const Options& options) {
    if (!options.master || !options.master->starts_with(etcd_scheme)) return std::nullopt;
    return options.master->substr(etcd_scheme.size());
}

std::optional<ElasticSettings> elastic_settings(const Options& options, const Environment& environment) {
    const auto server = server_of(options, environment);
    if (!server) {
        refuse_without_etcd(options, environment);
        return std::nullopt;
    }
    if (server->from_variables && (options.np.empty() || options.job_id == default_job)) return std::nullopt;
    if (server->legacy && options.np.empty())
        throw UsageError(fmt::format("{} {} needs --np: the number of nodes, or MIN:MAX", server->option,
                                     server->address));
    if (server->legacy && options.job_id == default_job)
        throw UsageError(fmt::format("{} {} needs --job_id: jobs of one name are one job", server->option,
                                     server->address));
    refuse_other_ways_to_name_nodes(options);
    const auto wanted = server->legacy || !options.np.empty()
                            ? elastic::parse_node_count("--np", options.np)
                            : elastic::parse_node_count("--nnodes", options.nnodes);
    const auto level = level_of(options, server->legacy);
    ElasticSettings out{.access = elastic::etcd_access(server->option, server->address, environment),
                        .keys = elastic::JobKeys(options.job_id),
                        .policy = {.wanted = wanted, .level = level, .settle = options.elastic_timeout},
                        .max_failures = options.max_restart.value_or(
                            server->legacy && level != elastic::Level::again ? 0 : paddles_restarts),
                        .paddles_statuses = server->legacy};
    if (!server->legacy)
        out.policy.timeout = options.elastic_timeout * (wanted.is_range() ? 1 : timeout_without_range);
    return out;
}

std::optional<ElasticCommand> elastic_command(const Options& options, const Environment& environment) {
    const bool resize = is_only_arg(options, "scale"), clean = is_only_arg(options, "clean");
    if (!resize && !clean && (options.check || !options.script.empty())) return std::nullopt;
    const auto server = server_of(options, environment);
    if (!server) {
        if (!options.script.empty()) return std::nullopt;  // the script has that name
        throw UsageError("--scale needs --elastic_server or --master etcd://host:port, and --job_id");
    }
    if (resize && options.np.empty()) throw UsageError("scale needs --np: the number of nodes, or MIN:MAX");
    return ElasticCommand{.what = clean    ? ElasticCommand::What::clean
                                  : resize ? ElasticCommand::What::resize
                                           : ElasticCommand::What::scale,
                          .access = elastic::etcd_access(server->option, server->address, environment),
                          .keys = elastic::JobKeys(options.job_id)};
}

Options options_of_start(Options options, const std::vector<std::string>& addresses, const std::string& own) {
    options.ips = join(addresses, ",");
    options.host = own;
    options.nnodes = std::to_string(addresses.size());
    options.master.reset();
    options.rank.reset();
    options.sort_ip = false;
    return options;
}

}  // namespace dtrain::launch
