// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: the examples of RFC 3720, appendix B.4; the check value of "123456789" in the catalogue of CRCs;
// TensorFlow's mask, taken back by its own formula.
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "metrics/crc32c.hpp"

namespace dtrain::metrics {
namespace {

TEST(Crc32c, IsThatOfTheStandard) {
    EXPECT_EQ(crc32c(""), 0U);
    EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
    EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
    std::string rising(32, '\0');
    std::iota(rising.begin(), rising.end(), '\0');
    EXPECT_EQ(crc32c(rising), 0x46dd794eU);
    EXPECT_EQ(crc32c(std::string(rising.rbegin(), rising.rend())), 0x113fdb5cU);
    EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
}

TEST(Crc32c, TheMaskCanBeTakenBack) {
    for (const std::string text : {"", "a", "123456789"}) {
        const auto turned = masked_crc32c(text) - 0xa282ead8U;
        EXPECT_EQ((turned >> 17U) | (turned << 15U), crc32c(text)) << text;
    }
}

}  // namespace
}  // namespace dtrain::metrics
