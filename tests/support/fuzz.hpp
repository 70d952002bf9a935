// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/environment.hpp>

/// Inputs for property tests of text parsers.
namespace dtrain::tests {

/// What inputs are made of.
struct Corpus {
    std::vector<std::string> examples;  ///< valid texts
    std::vector<std::string> pieces;    ///< of the grammar, to be put together in any order
};

/// Makes texts: mutated examples, sequences of pieces, noise. The same seed makes the same texts everywhere.
class Mutator {
  public:
    Mutator(const Corpus& corpus, std::uint64_t seed) : corpus_(corpus), engine_(seed) {}

    /// Any bytes, NUL and such that are no UTF-8 among them; now and then a very long text.
    std::string text();

    /// A text() cut at its blanks.
    std::vector<std::string> words();

    /// `base` with some variables changed to a text(), or to a damaged form of their own value, or removed.
    Environment environment(const Environment& base);

    /// A number below `limit`.
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }
    bool one_in(std::size_t times) { return below(times) == 0; }
    const std::string& any_of(const std::vector<std::string>& choices) {
        return choices[below(choices.size())];
    }

    /// `text` with one to four accidents.
    std::string damaged(std::string text);

  private:
    std::string sequence_of_pieces();
    std::string noise(std::size_t length);
    void damage_once(std::string& text);

    const Corpus& corpus_;
    std::mt19937_64 engine_;
};

/// `text` as a C++ literal, shortened in the middle.
std::string as_literal(std::string_view text);
std::string as_literal(const std::vector<std::string>& words);
std::string as_literal(const Environment& environment);

/// Whether `message` tells people enough: one short line without control characters that has one of `named`
/// in it, in the form that messages have: escaped, and at least the beginning of what is long.
testing::AssertionResult is_helpful(std::string_view message, const std::vector<std::string>& named);

/// 3000, or 100,000 with DTRAIN_STRESS=1.
std::uint64_t rounds();

/// Gives rounds() inputs, each made by `make` from a Mutator of its own seed, to `property`. Ends at the
/// first failure and prints its seed and input. An exception that `property` lets through is a failure.
template <class Make, class Property>
void for_all(const Corpus& corpus, const Make& make, const Property& property) {
    for (std::uint64_t seed = 0; seed < rounds(); ++seed) {
        Mutator mutator(corpus, seed);
        const auto input = std::invoke(make, mutator);
        try {
            property(input);
        } catch (const std::exception& error) {
            ADD_FAILURE() << "an exception that no caller expects: " << error.what();
        }
        if (testing::Test::HasFailure()) {
            ADD_FAILURE() << "seed " << seed << ", input " << as_literal(input);
            return;
        }
    }
}

}  // namespace dtrain::tests
