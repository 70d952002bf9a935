// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cerrno>
#include <sched.h>
#include <system_error>

#include <fmt/format.h>

#include <dtrain/cpuset.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain {
namespace {

constexpr int word_bits = 64;
constexpr int highest_cpu = 1 << 20;

template <class Combine>
std::vector<std::uint64_t> combine(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                                   Combine op) {
    std::vector<std::uint64_t> out(std::max(a.size(), b.size()));
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = op(i < a.size() ? a[i] : 0, i < b.size() ? b[i] : 0);
    return out;
}

}  // namespace

CpuSet CpuSet::range(int first, int last) {
    CpuSet set;
    for (int cpu = first; cpu <= last; ++cpu) set.add(cpu);
    return set;
}

CpuSet CpuSet::parse(std::string_view list) {
    CpuSet set;
    if (trimmed(list).empty()) return set;
    for (const auto& part : split(list, ',')) {
        const auto dash = part.find('-');
        const auto first = parse_int(trimmed(std::string_view(part).substr(0, dash)));
        const auto last =
            dash == std::string::npos ? first : parse_int(trimmed(std::string_view(part).substr(dash + 1)));
        if (!first || !last || *first < 0 || *last < *first || *last > highest_cpu)
            throw UsageError(fmt::format("\"{}\" is no list of processors; write it like 0-3,8", list));
        for (int cpu = *first; cpu <= *last; ++cpu) set.add(cpu);
    }
    return set;
}

CpuSet CpuSet::of_this_thread() {
    return of_process(0);
}

CpuSet CpuSet::of_process(int pid) {
    // The kernel refuses a mask that is shorter than its own: try larger ones.
    for (int cpus = 1024; cpus <= highest_cpu; cpus *= 4) {
        cpu_set_t* mask = CPU_ALLOC(cpus);
        const std::size_t size = CPU_ALLOC_SIZE(cpus);
        CPU_ZERO_S(size, mask);
        const int failed = sched_getaffinity(pid, size, mask);
        const int error = errno;
        CpuSet set;
        for (int cpu = 0; failed == 0 && cpu < cpus; ++cpu)
            if (CPU_ISSET_S(cpu, size, mask)) set.add(cpu);
        CPU_FREE(mask);
        if (failed == 0) return set;
        if (error != EINVAL) throw std::system_error(error, std::generic_category(), "sched_getaffinity");
    }
    throw Error("sched_getaffinity: this machine has more processors than dtrain can name");
}

void CpuSet::add(int cpu) {
    const auto word = static_cast<std::size_t>(cpu / word_bits);
    if (word >= words_.size()) words_.resize(word + 1);
    words_[word] |= std::uint64_t{1} << (cpu % word_bits);
}

bool CpuSet::contains(int cpu) const {
    const auto word = static_cast<std::size_t>(cpu / word_bits);
    return cpu >= 0 && word < words_.size() && (words_[word] >> (cpu % word_bits) & 1) != 0;
}

int CpuSet::count() const {
    int total = 0;
    for (const auto word : words_) total += std::popcount(word);
    return total;
}

std::vector<int> CpuSet::members() const {
    std::vector<int> out;
    for (std::size_t w = 0; w < words_.size(); ++w)
        for (auto rest = words_[w]; rest != 0; rest &= rest - 1)
            out.push_back(static_cast<int>(w) * word_bits + std::countr_zero(rest));
    return out;
}

bool CpuSet::is_subset_of(const CpuSet& other) const {
    return (*this - other).empty();
}

bool CpuSet::intersects(const CpuSet& other) const {
    return !(*this & other).empty();
}

std::string CpuSet::to_string() const {
    std::string out;
    const auto cpus = members();
    for (std::size_t i = 0; i < cpus.size();) {
        std::size_t last = i;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
        if (!out.empty()) out += ',';
        out += last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]);
        i = last + 1;
    }
    return out;
}

CpuSet operator&(const CpuSet& a, const CpuSet& b) {
    CpuSet out;
    out.words_ = combine(a.words_, b.words_, [](std::uint64_t x, std::uint64_t y) { return x & y; });
    out.trim();
    return out;
}

CpuSet operator|(const CpuSet& a, const CpuSet& b) {
    CpuSet out;
    out.words_ = combine(a.words_, b.words_, [](std::uint64_t x, std::uint64_t y) { return x | y; });
    return out;
}

CpuSet operator-(const CpuSet& a, const CpuSet& b) {
    CpuSet out;
    out.words_ = combine(a.words_, b.words_, [](std::uint64_t x, std::uint64_t y) { return x & ~y; });
    out.trim();
    return out;
}

void CpuSet::trim() {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace dtrain
