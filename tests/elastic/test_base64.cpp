// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the test vectors of RFC 4648, section 10.
#include <gtest/gtest.h>

#include "elastic/base64.hpp"

namespace dtrain::elastic {
namespace {

struct Vector {
    std::string_view bytes;
    std::string_view text;
};

TEST(Base64, HasTheVectorsOfItsStandard) {
    for (const auto& [bytes, text] :
         {Vector{"", ""}, Vector{"f", "Zg=="}, Vector{"fo", "Zm8="}, Vector{"foo", "Zm9v"},
          Vector{"foob", "Zm9vYg=="}, Vector{"fooba", "Zm9vYmE="}, Vector{"foobar", "Zm9vYmFy"}}) {
        EXPECT_EQ(to_base64(bytes), text);
        EXPECT_EQ(from_base64(text), bytes);
    }
}

TEST(Base64, CarriesAllBytes) {
    std::string bytes;
    for (int round = 0; round < 3; ++round) {
        for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
        bytes += 'x';
        EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    }
    EXPECT_EQ(to_base64("\xfb\xff\xbf"), "+/+/");
}

TEST(Base64, RefusesWhatItDoesNotWrite) {
    for (const char* text : {"Z", "Zg", "Zg=", "Zg==Zg==", "Z===", "====", "Zm9v\n", "Zm-v", "Zg=x"})
        EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace dtrain::elastic
