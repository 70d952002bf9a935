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

/// A set of logical processors by the number the operating system gives them ("0-3,8"), as in
/// `taskset -c` and /sys/devices/system/cpu. A value type, hwloc's bitmap inside, without any limit on the
/// numbers. What has been moved from is empty.
class CpuSet {
  public:
    CpuSet() = default;
    CpuSet(const CpuSet& other);
    CpuSet(CpuSet&&) noexcept = default;
    CpuSet& operator=(const CpuSet& other);
    CpuSet& operator=(CpuSet&&) noexcept = default;
    ~CpuSet() = default;

    /// The processors first..last, both included.
    static CpuSet range(int first, int last);

    /// Reads the kernel's list form, "0-3,8"; blanks around numbers are allowed, "" is the empty set.
    /// @throws UsageError naming the text when it is no such list.
    static CpuSet parse(std::string_view list);

    /// The set that the calling thread may run on now (sched_getaffinity).
    static CpuSet of_this_thread();

    /// The set that another process' first thread may run on.
    /// @throws std::system_error when there is no such process.
    static CpuSet of_process(int pid);

    void add(int cpu);
    bool contains(int cpu) const;
    bool empty() const;
    int count() const;

    /// All members, ascending.
    std::vector<int> members() const;

    /// True when every member of this set is in `other`.
    bool is_subset_of(const CpuSet& other) const;
    bool intersects(const CpuSet& other) const;

    /// The kernel's list form, shortest spelling: "0-3,8".
    std::string to_string() const;

    friend CpuSet operator&(const CpuSet& a, const CpuSet& b);
    friend CpuSet operator|(const CpuSet& a, const CpuSet& b);
    friend CpuSet operator-(const CpuSet& a, const CpuSet& b);
    friend bool operator==(const CpuSet& a, const CpuSet& b);
    /// By the highest processor that is in one of the sets only; the empty set is the least.
    friend std::strong_ordering operator<=>(const CpuSet& a, const CpuSet& b);

  private:
    struct Free {
        void operator()(hwloc_bitmap_s* bits) const;
    };

    const hwloc_bitmap_s* bits() const;
    hwloc_bitmap_s* own();

    std::unique_ptr<hwloc_bitmap_s, Free> bits_;  // none: the empty set
};

}  // namespace dtrain
