// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Preloaded: rank 0's worker begins a second later than the others', as on a machine with much to do.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace {

[[gnu::constructor]] void come_late() {
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (rank != nullptr && std::strcmp(rank, "0") == 0 &&
        std::strcmp(::program_invocation_short_name, "dtrain-worker") == 0)
        ::sleep(1);
}

}  // namespace
