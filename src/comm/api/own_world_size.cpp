// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/api/own_world_size.hpp"

#include <atomic>

#include "comm/api/backend.hpp"
#include "comm/api/launched.hpp"

namespace dtrain::comm {
namespace {

constexpr int unknown_size = 0;
std::atomic<int> noted_size{unknown_size};

}  // namespace

int own_world_size(const Environment& environment) {
    if (const int ranks = noted_size; ranks != unknown_size) return ranks;
    if (!is_launched(environment)) return 1;
    for (const auto* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})
        if (environment.has(name)) return environment.get_int(name).value_or(1);
    return 1;
}

void note_own_world_size(int ranks) {
    noted_size = ranks;
}

bool is_default(const Communicator& communicator) {
    return backend_of(communicator) == local_backend();
}

}  // namespace dtrain::comm
