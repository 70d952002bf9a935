// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dtrain::tests {

/// What the cases of a parameterized test wait for, all of it begun when the first case asks: jobs that wait
/// for deadlines need time and no processors.
template <class Case, class Result>
class BegunTogether {
  public:
    /// Made by a test of the suite; begins the cases that this process is to run.
    /// @param cases what the suite is instantiated with, by testing::ValuesIn()
    BegunTogether(const std::vector<Case>& cases, const std::function<Result(const Case&)>& run) {
        const auto& suite = *testing::UnitTest::GetInstance()->current_test_suite();
        for (int i = 0; i < suite.total_test_count(); ++i) {
            const auto& test = *suite.GetTestInfo(i);
            if (test.should_run())
                results_.emplace(test.name(), std::async(std::launch::async, run, cases.at(index(test))));
        }
    }

    /// Of the case that runs now; asked for once.
    Result of_this_test() {
        return results_.at(testing::UnitTest::GetInstance()->current_test_info()->name()).get();
    }

  private:
    /// Names end in the case's index: "NamesTheOther/3".
    static std::size_t index(const testing::TestInfo& test) {
        const std::string name = test.name();
        return std::stoul(name.substr(name.rfind('/') + 1));
    }

    std::map<std::string, std::future<Result>> results_;
};

}  // namespace dtrain::tests
