// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the kernel says of the addresses in /proc/self/maps.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/huge_pages.hpp"

namespace dtrain {
namespace {

bool is_mapped(const std::byte* address) {
    const auto wanted = std::bit_cast<std::uintptr_t>(address);
    std::ifstream file("/proc/self/maps");
    for (std::string line; std::getline(file, line);) {
        std::uintptr_t begin = 0, end = 0;
        char dash = 0;
        std::istringstream(line) >> std::hex >> begin >> dash >> end;
        if (begin <= wanted && wanted < end) return true;
    }
    return false;
}

TEST(HugePages, AreZerosToTheLastByteAndGoWithTheirOwner) {
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{5000}, huge_page - 1, huge_page, 3 * huge_page + 17}) {
        const std::byte* first = nullptr;
        {
            const auto pages = make_huge_pages(bytes);
            first = pages.get();
            EXPECT_TRUE(
                std::all_of(first, first + bytes, [](std::byte value) { return value == std::byte{0}; }));
            std::memset(pages.get(), 1, bytes);
            EXPECT_TRUE(is_mapped(first + bytes - 1));
        }
        EXPECT_FALSE(is_mapped(first)) << bytes;
        EXPECT_FALSE(is_mapped(first + bytes - 1)) << bytes;
    }
}

TEST(HugePages, LargeOnesBeginAtOne) {
    for (const std::size_t bytes : {huge_page, 2 * huge_page + 1})
        EXPECT_EQ(std::bit_cast<std::uintptr_t>(make_huge_pages(bytes).get()) % huge_page, 0U);
}

}  // namespace
}  // namespace dtrain
