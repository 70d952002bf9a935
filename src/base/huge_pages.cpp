// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/huge_pages.hpp"

#include <bit>
#include <cstdint>
#include <new>
#include <sys/mman.h>

namespace dtrain {
namespace {

std::size_t mapped_bytes(std::size_t bytes) {
    return bytes < huge_page ? bytes : aligned_to<huge_page>(bytes);
}

std::byte* map(std::size_t bytes) {
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(mapped);
}

}  // namespace

std::byte* map_pages(std::size_t bytes) {
    bytes = mapped_bytes(bytes);
    if (bytes < huge_page) return map(bytes);
    auto* const memory = map(bytes + huge_page);
    const auto address = std::bit_cast<std::uintptr_t>(memory);
    const auto before = aligned_to<huge_page>(address) - address;
    if (before > 0) munmap(memory, before);
    if (before < huge_page) munmap(memory + before + bytes, huge_page - before);
    return memory + before;
}

void unmap_pages(std::byte* memory, std::size_t bytes) noexcept {
    munmap(memory, mapped_bytes(bytes));
}

HugePages make_huge_pages(std::size_t bytes) {
    HugePages pages(map_pages(bytes), UnmapPages{bytes});
    if (const auto filled = bytes / huge_page * huge_page; filled > 0)
        madvise(pages.get(), filled, MADV_HUGEPAGE);
    return pages;
}

}  // namespace dtrain
