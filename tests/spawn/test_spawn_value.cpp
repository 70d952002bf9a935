// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a value that has travelled is the value.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/spawn_value.hpp>

#include "spawn/outcome.hpp"

struct Own {
    int number = 0;
    std::string text;
    friend bool operator==(const Own&, const Own&) = default;
};

template <>
struct dtrain::SpawnValue<Own> {
    static void write(const Own& value, std::string& bytes) {
        SpawnValue<int>::write(value.number, bytes);
        SpawnValue<std::string>::write(value.text, bytes);
    }
    static Own read(SpawnBytes& bytes) {
        const auto number = SpawnValue<int>::read(bytes);
        return {number, SpawnValue<std::string>::read(bytes)};
    }
};

namespace dtrain {
namespace {

enum class Colour { red, green };

template <class T>
std::string written(const T& value) {
    std::string bytes;
    SpawnValue<T>::write(value, bytes);
    return bytes;
}

template <class T>
T travelled(const T& value) {
    const auto bytes = written(value);
    SpawnBytes rest(bytes);
    auto out = SpawnValue<T>::read(rest);
    EXPECT_TRUE(rest.is_empty());
    return out;
}

template <class T>
void expect_travels(const T& value) {
    EXPECT_EQ(travelled(value), value);
}

TEST(SpawnValue, ValuesTravel) {
    expect_travels(true);
    expect_travels(std::numeric_limits<std::int64_t>::min());
    expect_travels(0.1);
    expect_travels(Colour::green);
    expect_travels(std::string("with a \0 in it", 13));
    expect_travels(std::vector<bool>{true, false, true});
    expect_travels(std::vector<std::string>{"", "a", "b c"});
    expect_travels(std::array<float, 3>{1, 2, 3});
    expect_travels(std::optional<int>());
    expect_travels(std::optional<std::string>("x"));
    expect_travels(std::map<std::string, std::vector<double>>{{"a", {1}}, {"b", {}}});
    expect_travels(std::tuple<bool, std::string, std::pair<int, Own>>{true, "text", {7, {8, "own"}}});
    expect_travels(std::tuple<>());
}

TEST(SpawnValue, WhatIsCutOffIsRefused) {
    const auto whole = written(std::tuple<std::string, std::vector<int>>{"abc", {1, 2, 3}});
    for (std::size_t length = 0; length < whole.size(); ++length) {
        SpawnBytes rest(std::string_view(whole).substr(0, length));
        EXPECT_THROW((SpawnValue<std::tuple<std::string, std::vector<int>>>::read(rest)), Error) << length;
    }
}

TEST(SpawnValue, CallsTravel) {
    using spawning::CallState;
    expect_travels(CallState{4, "", {}});
    expect_travels(CallState{0, "nprocs is 0", {}});
    expect_travels(CallState{2, "", spawning::Results{"", "b"}});
    expect_travels(CallState{2, "", spawning::Failure{1, "rank 1 of 2: no"}});
}

}  // namespace
}  // namespace dtrain
