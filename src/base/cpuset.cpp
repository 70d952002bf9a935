// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdlib>
#include <new>
#include <sched.h>
#include <system_error>

#include <fmt/format.h>
#include <hwloc/bitmap.h>

#include <dtrain/cpuset.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain {
namespace {

constexpr int highest_cpu = 1 << 20;

void check(int answer) {
    if (answer < 0) throw std::bad_alloc();
}

hwloc_bitmap_t no_processors() {
    if (auto* bits = hwloc_bitmap_alloc()) return bits;
    throw std::bad_alloc();
}

}  // namespace

void CpuSet::Free::operator()(hwloc_bitmap_s* bits) const {
    hwloc_bitmap_free(bits);
}

CpuSet::CpuSet(const CpuSet& other) {
    if (other.bits_) check(hwloc_bitmap_copy(own(), other.bits()));
}

CpuSet& CpuSet::operator=(const CpuSet& other) {
    return *this = CpuSet(other);
}

const hwloc_bitmap_s* CpuSet::bits() const {
    static const std::unique_ptr<hwloc_bitmap_s, Free> nothing(no_processors());
    return bits_ ? bits_.get() : nothing.get();
}

hwloc_bitmap_s* CpuSet::own() {
    if (!bits_) bits_.reset(no_processors());
    return bits_.get();
}

CpuSet CpuSet::range(int first, int last) {
    CpuSet set;
    if (first <= last) check(hwloc_bitmap_set_range(set.own(), static_cast<unsigned>(first), last));
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
        check(hwloc_bitmap_set_range(set.own(), static_cast<unsigned>(*first), *last));
    }
    return set;
}

CpuSet CpuSet::of_this_thread() {
    return of_process(0);
}

CpuSet CpuSet::of_process(int pid) {
    // The kernel refuses a mask shorter than its own: try increasing lengths.
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
    check(hwloc_bitmap_set(own(), static_cast<unsigned>(cpu)));
}

bool CpuSet::contains(int cpu) const {
    return cpu >= 0 && hwloc_bitmap_isset(bits(), static_cast<unsigned>(cpu)) != 0;
}

bool CpuSet::empty() const {
    return hwloc_bitmap_iszero(bits()) != 0;
}

int CpuSet::count() const {
    return hwloc_bitmap_weight(bits());
}

std::vector<int> CpuSet::members() const {
    std::vector<int> out;
    for (int cpu = hwloc_bitmap_first(bits()); cpu >= 0; cpu = hwloc_bitmap_next(bits(), cpu))
        out.push_back(cpu);
    return out;
}

bool CpuSet::is_subset_of(const CpuSet& other) const {
    return hwloc_bitmap_isincluded(bits(), other.bits()) != 0;
}

bool CpuSet::intersects(const CpuSet& other) const {
    return hwloc_bitmap_intersects(bits(), other.bits()) != 0;
}

std::string CpuSet::to_string() const {
    char* text = nullptr;
    check(hwloc_bitmap_list_asprintf(&text, bits()));
    const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
    return text;
}

CpuSet operator&(const CpuSet& a, const CpuSet& b) {
    CpuSet out;
    check(hwloc_bitmap_and(out.own(), a.bits(), b.bits()));
    return out;
}

CpuSet operator|(const CpuSet& a, const CpuSet& b) {
    CpuSet out;
    check(hwloc_bitmap_or(out.own(), a.bits(), b.bits()));
    return out;
}

CpuSet operator-(const CpuSet& a, const CpuSet& b) {
    CpuSet out;
    check(hwloc_bitmap_andnot(out.own(), a.bits(), b.bits()));
    return out;
}

bool operator==(const CpuSet& a, const CpuSet& b) {
    return hwloc_bitmap_isequal(a.bits(), b.bits()) != 0;
}

std::strong_ordering operator<=>(const CpuSet& a, const CpuSet& b) {
    return hwloc_bitmap_compare(a.bits(), b.bits()) <=> 0;
}

}  // namespace dtrain
