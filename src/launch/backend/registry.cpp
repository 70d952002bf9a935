// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/registry.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "launch/backend/mpirun/mpirun_backend.hpp"
#include "launch/backend/srun/srun_backend.hpp"
#include "launch/options/backend_names.hpp"

namespace dtrain::launch {
namespace {

std::vector<const LaunchBackend*>& known() {
    static const SrunBackend srun;
    static const MpirunBackend mpirun;
    static std::vector<const LaunchBackend*> all{&srun, &mpirun};
    return all;
}

}  // namespace

const std::vector<const LaunchBackend*>& launch_backends() {
    return known();
}

void add_backend(const LaunchBackend& backend) {
    known().push_back(&backend);
    add_backend_name(backend.name());
}

const LaunchBackend* find_backend(std::string_view name) {
    const auto found =
        std::ranges::find(known(), name, [](const LaunchBackend* each) { return each->name(); });
    return found == known().end() ? nullptr : *found;
}

const LaunchBackend& backend_named(std::string_view name) {
    if (const auto* backend = find_backend(name)) return *backend;
    throw Error(fmt::format("there is no launch backend {}", name));
}

const LaunchBackend& choose_backend(const std::string& wanted, const BackendSite& site) {
    if (wanted != "auto") {
        const auto& backend = backend_named(wanted);
        if (const auto obstacle = backend.obstacle(site))
            throw UsageError(fmt::format("--engine {}: {}", wanted, *obstacle));
        return backend;
    }
    const auto usable = std::ranges::find_if(
        known(), [&](const LaunchBackend* each) { return !each->obstacle(site).has_value(); });
    return **usable;  // mpirun is always one: where it is not installed, prepare() says so
}

std::string hostfile_text(const Plan& plan) {
    return backend_named(plan.engine).hostfile(plan);
}

}  // namespace dtrain::launch
