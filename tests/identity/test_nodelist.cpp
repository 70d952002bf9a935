// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: hand-worked examples in the form that `scontrol show hostnames` documents, and node lists that were
// composed from the names they stand for.
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Nodelist, Examples) {
    EXPECT_THAT(expand_nodelist("n[01-03,7]-ib,login2"),
                ElementsAre("n01-ib", "n02-ib", "n03-ib", "n7-ib", "login2"));
    EXPECT_THAT(expand_nodelist("n[1-2]r[1-2]"), ElementsAre("n1r1", "n1r2", "n2r1", "n2r2"));
    EXPECT_THAT(expand_nodelist("n[8-11]"), ElementsAre("n8", "n9", "n10", "n11"));
    EXPECT_THAT(expand_nodelist("n[098-101]"), ElementsAre("n098", "n099", "n100", "n101"));
    EXPECT_THAT(expand_nodelist("n[9-10,010]"), ElementsAre("n9", "n10", "n010"));
    EXPECT_THAT(expand_nodelist("host"), ElementsAre("host"));
    EXPECT_THAT(expand_nodelist(" a, b \n"), ElementsAre("a", "b"));
    EXPECT_THAT(expand_nodelist("[1-2]"), ElementsAre("1", "2"));
    EXPECT_THAT(expand_nodelist(""), IsEmpty());
}

TEST(Nodelist, MalformedListsAreQuoted) {
    for (const char* wrong : {"n[1-3",
                              "n1-3]",
                              "n[1-[2]]",
                              "n[3-1]",
                              "n[]",
                              "n[1,]",
                              "n[-1]",
                              "n[1-2-3]",
                              "n[a-c]",
                              "a,,b",
                              "a,",
                              ",a",
                              "n[1 2]",
                              "a b",
                              "n[0x1]",
                              "n[+1]",
                              "-Fevil.conf",
                              "a,-oProxyCommand=x",
                              "-[1-2]",
                              "n[1-2]-",
                              "10.0.0.[1-300]",
                              "n[1-99999999999]",
                              "n[000000000001]"}) {
        SCOPED_TRACE(wrong);
        try {
            expand_nodelist(wrong);
            ADD_FAILURE() << "accepted";
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr(fmt::format("'{}'", wrong)));
        }
    }
}

TEST(Nodelist, LimitsHold) {
    EXPECT_EQ(expand_nodelist("n[1-1000000]").size(), 1'000'000U);
    for (const char* huge : {"n[0-1000000]", "n[1-1000]m[1-1001]", "n[1-600000],m[1-600000]",
                             "n[1-999999999]", "n[1-1000][1-1000][1-1000][1-1000][1-1000][1-1000][1-1000]"})
        EXPECT_THROW(expand_nodelist(huge), UsageError) << huge;
    EXPECT_THROW(expand_nodelist(std::string(256, 'n')), UsageError);
    const std::string label(63, 'n');
    EXPECT_EQ(expand_nodelist(label + "." + label + "." + label + "." + label).size(), 1U);
    EXPECT_THROW(expand_nodelist(label + "n"), UsageError);
}

/// A random list together with the names that it stands for.
struct Composed {
    std::string list;
    std::vector<std::string> names;
};

class Composer {
  public:
    explicit Composer(unsigned seed) : random_(seed) {}

    Composed compose() {
        Composed out;
        const int items = pick(1, 5);
        for (int i = 0; i < items; ++i) {
            if (i != 0) out.list += ',';
            add_item(out);
        }
        return out;
    }

    int pick(int min, int max) { return std::uniform_int_distribution<int>(min, max)(random_); }

  private:
    std::string letters() {
        std::string out;
        const int count = pick(1, 6);
        for (int i = 0; i < count; ++i) out += "abcxyz"[pick(0, 5)];
        return out;
    }

    /// Behind a bracket.
    std::string tail() {
        static const std::vector<std::string> joints{"", "-", ".", "_", "--"};
        return joints[static_cast<std::size_t>(pick(0, 4))] + letters();
    }

    void add_item(Composed& out) {
        std::vector<std::string> names{letters()};
        out.list += names.front();
        const int brackets = pick(0, 2);
        for (int b = 0; b < brackets; ++b) {
            std::string text;
            std::vector<std::string> numbers;
            const int ranges = pick(1, 4);
            for (int r = 0; r < ranges; ++r) {
                const int first = pick(0, 1200);
                const int count = pick(1, 12);
                const int width = pick(1, 5);
                for (int n = first; n < first + count; ++n) {
                    numbers.push_back(fmt::format("{:0{}}", n, width));
                }
                if (r != 0) text += ',';
                text += numbers[numbers.size() - static_cast<std::size_t>(count)];
                if (count > 1 || pick(0, 1) == 1) text += '-' + numbers.back();
            }
            const auto tail = pick(0, 1) == 1 ? this->tail() : "";
            out.list += fmt::format("[{}]{}", text, tail);
            std::vector<std::string> longer;
            for (const auto& name : names)
                for (const auto& number : numbers) longer.push_back(name + number + tail);
            names = longer;
        }
        out.names.insert(out.names.end(), names.begin(), names.end());
    }

    std::mt19937 random_;
};

TEST(Nodelist, RandomListsExpandToWhatTheyWereMadeOf) {
    Composer composer(20240607);
    for (int i = 0; i < 2000; ++i) {
        const auto composed = composer.compose();
        ASSERT_EQ(expand_nodelist(composed.list), composed.names) << composed.list;
    }
}

TEST(Nodelist, GarbageIsRefusedOrExpanded) {
    Composer composer(7);
    constexpr std::string_view characters = "n[]-,0123 \t\n(x)\xff";
    int accepted = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string text;
        const int length = composer.pick(1, 20);
        for (int k = 0; k < length; ++k)
            text += characters[static_cast<std::size_t>(
                composer.pick(0, static_cast<int>(characters.size()) - 1))];
        try {
            for (const auto& name : expand_nodelist(text)) {
                ASSERT_FALSE(name.empty()) << text;
                ASSERT_EQ(name.find_first_of("[], \t\n"), std::string::npos) << text;
            }
            ++accepted;
        } catch (const UsageError&) {
        }
    }
    EXPECT_GT(accepted, 0);
}

TEST(Nodelist, BrokenListsNeverCrash) {
    Composer composer(99);
    int accepted = 0;
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
        auto text = composer.compose().list;
        const auto position = static_cast<std::size_t>(composer.pick(0, static_cast<int>(text.size()) - 1));
        const bool is_bracket = text[position] == '[' || text[position] == ']';
        text.erase(position, 1);
        try {
            for (const auto& name : expand_nodelist(text)) {
                ASSERT_FALSE(name.empty()) << text;
                ASSERT_EQ(name.find_first_of("[],"), std::string::npos) << text;
            }
            ASSERT_FALSE(is_bracket) << text;
            ++accepted;
        } catch (const UsageError& error) {
            ASSERT_THAT(error.what(), testing::HasSubstr(fmt::format("'{}", text.substr(0, 100))));
            ++refused;
        }
    }
    EXPECT_GT(accepted, 0);
    EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace dtrain::cluster
