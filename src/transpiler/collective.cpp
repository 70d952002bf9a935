// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transpiler/collective.hpp"

#include <fmt/format.h>

#include <dtrain/passes.hpp>

#include "identity/endpoint_list.hpp"
#include "transpiler/endpoints.hpp"

namespace dtrain::transpiler {
namespace {

bool is_local_sgd(const DistributeTranspilerConfig& config) {
    return config.collective_mode == "local_sgd";
}

void check_local_sgd(const DistributeTranspilerConfig& config) {
    const auto& mode = config.collective_mode;
    if (!mode.empty() && mode != "grad_allreduce" && mode != "local_sgd")
        throw UsageError(fmt::format(
            "transpile: collective_mode is \"{}\", expected \"grad_allreduce\" or \"local_sgd\"", mode));
    if (config.local_sgd_steps < 1)
        throw UsageError(
            fmt::format("transpile: local_sgd_steps is {}, expected at least 1", config.local_sgd_steps));
    if (config.local_sgd_steps > 1 && !is_local_sgd(config))
        throw UsageError(fmt::format(
            "transpile: local_sgd_steps is {}, but gradients are averaged in every step: it goes with "
            "collective_mode \"local_sgd\"",
            config.local_sgd_steps));
}

Program transpiled(const Program& program, const DistributeTranspilerConfig& config, int trainers) {
    if (is_local_sgd(config))
        return with_local_sgd(program, {.ranks = trainers, .every = config.local_sgd_steps});
    return data_parallel(program, {.ranks = trainers});
}

/// @returns the number of trainers
int check(const DistributeTranspilerConfig& config, const TranspileOptions& options) {
    const auto refuse = [&](const std::string& what) {
        throw UsageError(fmt::format("transpile: mode \"{}\" {}", config.mode, what));
    };
    if (!options.sync_mode)
        refuse("is synchronous: sync_mode = false goes with parameter servers, mode \"pserver\"");
    if (config.geo_sgd_mode)
        refuse("has no servers to send changes to: geo_sgd_mode goes with mode \"pserver\"");
    if (!options.pservers.empty())
        refuse(fmt::format("has no parameter servers, but pservers is '{}'; leave it out", options.pservers));
    check_local_sgd(config);
    const auto endpoints = cluster::parse_endpoint_list(options.trainer_endpoints);
    check_endpoints("trainer_endpoints", options.trainer_endpoints, endpoints);
    const auto trainers = static_cast<int>(endpoints.size());
    if (options.trainer_id < 0 || options.trainer_id >= trainers)
        throw UsageError(
            fmt::format("transpile: trainer_id is {}, expected 0 to {}, as trainer_endpoints are "
                        "{}",
                        options.trainer_id, trainers - 1, trainers));
    const auto& own = endpoints[static_cast<std::size_t>(options.trainer_id)];
    if (options.current_endpoint != own)
        throw UsageError(
            fmt::format("transpile: current_endpoint is '{}', but trainer_endpoints give trainer {} "
                        "the endpoint {}",
                        options.current_endpoint, options.trainer_id, own));
    return trainers;
}

}  // namespace

bool is_collective(const std::string& mode) {
    if (mode == "nccl2" || mode == "collective") return true;
    if (mode == "pserver") return false;
    throw UsageError(
        fmt::format("transpile: mode is \"{}\", expected \"pserver\", \"nccl2\" or \"collective\"", mode));
}

Collective::Collective(const Program& of, const DistributeTranspilerConfig& config,
                       const TranspileOptions& options)
    : trainers(check(config, options)), program(transpiled(of, config, trainers)) {}

}  // namespace dtrain::transpiler
