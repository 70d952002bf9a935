// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct hwloc_bitmap_s;

namespace dtrain {

/// A set of logical processors by their operating system numbers ("0-3,8"), as in `taskset -c` and
/// /sys/devices/system/cpu. A value type around hwloc's bitmap, without a limit on the numbers. A moved-from
/// set is empty.
class CpuSet {
  public:
    CpuSet() = default;
    /// Copies.
    CpuSet(const CpuSet& other);
    CpuSet(CpuSet&&) noexcept = default;
    /// Copies.
    CpuSet& operator=(const CpuSet& other);
    CpuSet& operator=(CpuSet&&) noexcept = default;
    ~CpuSet() = default;

    /// The processors first..last, both included.
    static CpuSet range(int first, int last);

    /// Parses the kernel's list form, "0-3,8"; spaces around numbers are allowed, "" is the empty set.
    /// @throws UsageError naming the text if it is not such a list.
    static CpuSet parse(std::string_view list);

    /// The current affinity mask of the calling thread (sched_getaffinity).
    static CpuSet of_this_thread();

    /// The affinity mask of another process' main thread.
    /// @throws std::system_error if there is no such process.
    static CpuSet of_process(int pid);

    /// Adds a processor, from 0.
    void add(int cpu);
    /// Whether this processor is in the set.
    bool contains(int cpu) const;
    /// Whether it has no processor.
    bool empty() const;
    /// Number of its processors.
    int count() const;

    /// All members, ascending.
    std::vector<int> members() const;

    /// True if every member of this set is in `other`.
    bool is_subset_of(const CpuSet& other) const;
    /// Whether both sets have a processor in common.
    bool intersects(const CpuSet& other) const;

    /// The kernel's list form in its shortest spelling: "0-3,8".
    std::string to_string() const;

    /// The processors of both sets.
    friend CpuSet operator&(const CpuSet& a, const CpuSet& b);
    /// The processors of either set.
    friend CpuSet operator|(const CpuSet& a, const CpuSet& b);
    /// The processors of `a` that are not in `b`.
    friend CpuSet operator-(const CpuSet& a, const CpuSet& b);
    /// Whether both sets have the same processors.
    friend bool operator==(const CpuSet& a, const CpuSet& b);
    /// Orders by the highest processor that is in only one of the sets; the empty set is the smallest.
    friend std::strong_ordering operator<=>(const CpuSet& a, const CpuSet& b);

  private:
    struct Free {
        void operator()(hwloc_bitmap_s* bits) const;
    };

    const hwloc_bitmap_s* bits() const;
    hwloc_bitmap_s* own();

    std::unique_ptr<hwloc_bitmap_s, Free> bits_;  // null: the empty set
};

}  // namespace dtrain
