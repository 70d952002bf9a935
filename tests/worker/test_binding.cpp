// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: /proc/self/status, where the kernel shows a process' processors.
#include <system_error>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "programs.hpp"
#include "worker/binding.hpp"

namespace dtrain::worker {
namespace {

std::string cpus_in_proc() {
    for (const auto& line : split(read_file("/proc/self/status").value_or(""), '\n'))
        if (line.starts_with("Cpus_allowed_list:")) return std::string(trimmed(line.substr(18)));
    return "(no such line)";
}

TEST(Bind, RestrictsThisProcess) {
    const auto allowed = CpuSet::of_this_thread();
    for (const int cpu : {allowed.members().front(), allowed.members().back()}) {
        const auto one = CpuSet::range(cpu, cpu);
        EXPECT_EQ(in_child([&] {
                      if (bind_this_thread(one, {0}) != one) return 1;
                      return cpus_in_proc() == one.to_string() ? 0 : 2;
                  }),
                  0);
    }
    EXPECT_EQ(CpuSet::of_this_thread(), allowed);
}

TEST(Bind, TellsTheMaskThatTheKernelReallySet) {
    const auto allowed = CpuSet::of_this_thread();
    const auto beyond = allowed.members().back() + 1000;
    EXPECT_EQ(in_child([&] {
                  return bind_this_thread(allowed | CpuSet::range(beyond, beyond), {}) == allowed ? 0 : 1;
              }),
              0);
}

TEST(Bind, MemoryNodesThatAreNotThereDoNoHarm) {
    const auto allowed = CpuSet::of_this_thread();
    EXPECT_EQ(in_child([&] { return bind_this_thread(allowed, {0, 63, 500}) == allowed ? 0 : 1; }), 0);
}

TEST(Bind, ProcessorsThatTheKernelDoesNotAllowAreNamed) {
    const auto beyond = CpuSet::of_this_thread().members().back() + 1000;
    for (const auto& cpus : {CpuSet::range(beyond, beyond + 1), CpuSet()})
        EXPECT_EQ(in_child([&] {
                      try {
                          bind_this_thread(cpus, {});
                          return 1;
                      } catch (const std::system_error& error) {
                          return std::string(error.what()).find(cpus.to_string()) == std::string::npos ? 2
                                                                                                       : 0;
                      }
                  }),
                  0);
}

}  // namespace
}  // namespace dtrain::worker
