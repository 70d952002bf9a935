// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/binding.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <sched.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include <climits>

namespace dtrain::worker {
namespace {

// Values from linux/mempolicy.h. "Preferred" rather than "bind", so that a full node does not kill the
// program. The second mode is newer (Linux 5.15) and accepts several nodes.
constexpr int mpol_preferred = 1;
constexpr int mpol_preferred_many = 5;

void prefer_memory_of(const std::vector<int>& nodes) {
    if (nodes.empty()) return;
    constexpr int bits = sizeof(unsigned long) * CHAR_BIT;
    const int highest = *std::max_element(nodes.begin(), nodes.end());
    std::vector<unsigned long> mask(static_cast<std::size_t>(highest / bits) + 1);
    for (const int node : nodes) mask[static_cast<std::size_t>(node / bits)] |= 1UL << (node % bits);
    const auto length = static_cast<unsigned long>(mask.size()) * bits + 1;
    // Errors are ignored: the program also runs on a kernel without memory policies and in a container that
    // forbids them.
    if (nodes.size() == 1)
        ::syscall(SYS_set_mempolicy, mpol_preferred, mask.data(), length);
    else
        ::syscall(SYS_set_mempolicy, mpol_preferred_many, mask.data(), length);
}

}  // namespace

CpuSet bind_this_thread(const CpuSet& cpus, const std::vector<int>& numa_nodes) {
    const auto members = cpus.members();
    const auto count = static_cast<std::size_t>(members.empty() ? 1 : members.back() + 1);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(CPU_ALLOC(count),
                                                                [](cpu_set_t* set) { CPU_FREE(set); });
    const auto size = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(size, mask.get());
    for (const int cpu : members) CPU_SET_S(static_cast<std::size_t>(cpu), size, mask.get());
    if (::sched_setaffinity(0, size, mask.get()) != 0)
        throw std::system_error(errno, std::generic_category(),
                                "cannot bind to processors " + cpus.to_string());
    prefer_memory_of(numa_nodes);
    return CpuSet::of_this_thread();
}

}  // namespace dtrain::worker
