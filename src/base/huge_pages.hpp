// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "base/aligned_memory.hpp"

namespace dtrain {

inline constexpr std::size_t memory_page = 4096;
inline constexpr std::size_t huge_page = std::size_t{1} << 21U;

/// Maps zeroed pages, which get memory when they are first touched; from 2 MiB on they are aligned to huge
/// pages, and the last one is complete. The kernel decides whether they get huge pages: see madvise(2).
/// @param bytes > 0
/// @throws std::bad_alloc
std::byte* map_pages(std::size_t bytes);

/// @param bytes as passed to map_pages()
void unmap_pages(std::byte* memory, std::size_t bytes) noexcept;

struct UnmapPages {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const noexcept { unmap_pages(memory, bytes); }
};

using HugePages = std::unique_ptr<std::byte[], UnmapPages>;

/// Like map_pages(), on huge pages as far as the bytes fill them and the kernel has some.
HugePages make_huge_pages(std::size_t bytes);

}  // namespace dtrain
