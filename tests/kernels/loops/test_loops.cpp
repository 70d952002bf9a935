// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same loop, called for one element after the other. Jobs on any number of ranks have the same
// bits only if those of an element do not depend on how many are computed with it, and where they lie.
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/optimizer.hpp>

#include "kernels/functors/functions.hpp"
#include "kernels/functors/optimizer_info.hpp"
#include "kernels/loops/element_loops.hpp"
#include "kernels/loops/loops.hpp"
#include "kernels/loops/update_loops.hpp"

namespace dtrain::kernels {
namespace {

constexpr std::size_t length = 97;

/// Three rows that a loop may change, and one that it reads.
using Rows = std::array<std::vector<float>, 4>;
using Pointers = std::array<float*, 4>;

struct Loop {
    std::string name;
    std::function<void(const Pointers& rows, std::size_t n)> run;
};

/// The second and third row are squares and the like: not negative.
Rows some_rows(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> any(-3, 3);
    std::uniform_real_distribution<float> positive(0.01F, 3);
    Rows rows;
    for (std::size_t row = 0; row < rows.size(); ++row)
        for (std::size_t i = 0; i < length; ++i)
            rows[row].push_back(row == 1 || row == 2 ? positive(random) : any(random));
    return rows;
}

void run(const Loop& loop, Rows& rows, std::size_t begin, std::size_t end) {
    if (begin >= end) return;
    loop.run({&rows[0][begin], &rows[1][begin], &rows[2][begin], &rows[3][begin]}, end - begin);
}

std::vector<std::uint32_t> bits_of(const Rows& rows) {
    std::vector<std::uint32_t> bits;
    for (const auto& row : rows)
        for (const auto value : row) bits.push_back(std::bit_cast<std::uint32_t>(value));
    return bits;
}

std::vector<Loop> loops_of_operators() {
    std::vector<Loop> all;
    for (const auto type : ElementOperators::types)
        all.push_back({std::string(type), [loop = loops::element_loop<float>(type)](const auto& r, auto n) {
                           const std::array<const float*, 3> inputs{r[3], r[1], r[2]};
                           loop(inputs.data(), r[0], n);
                       }});
    for (const auto type : Activations::types)
        all.push_back(
            {"add_bias_" + std::string(type),
             [loop = loops::bias_loop<float>(type)](const auto& r, auto n) { loop(r[3], r[0], 1, n); }});
    return all;
}

/// In the third step.
template <class Rule>
Loop loop_of_update(const typename Rule::Settings& settings, const std::string& variant = "") {
    const loops::Update<float> update = Rule::template update<float>(values_of<Rule>(settings), 0.1, 3);
    return {std::string(Rule::type) + variant, [update](const auto& r, auto n) {
                loops::update(update, r[0], {r[1], r[2]}, r[3], n);
            }};
}

std::vector<Loop> loops_of_updates() {
    std::vector<Loop> all{
        loop_of_update<MomentumRule>({.mu = 0.8, .nesterov = true}, "_nesterov"),
        loop_of_update<FtrlRule>({.beta = 0.5, .l1 = 0.01, .l2 = 0.02}, "_with_decay"),
    };
    UpdateRules::for_each(
        [&]<class Rule>(std::type_identity<Rule>) { all.push_back(loop_of_update<Rule>({})); });
    return all;
}

std::vector<Loop> other_loops() {
    return {
        {"product", [](const auto& r, auto n) { loops::multiply(r[1], r[3], r[0], n); }},
        {"scale_and_shift", [](const auto& r, auto n) { loops::scale_and_shift(0.3F, 0.7F, r[3], r[0], n); }},
        {"multiply_difference",
         [](const auto& r, auto n) { loops::multiply_difference(r[1], r[3], 0.3F, r[0], n); }},
        {"add_scaled", [](const auto& r, auto n) { loops::add_scaled(r[1], r[3], 0.3F, r[0], n); }},
        {"add_sign", [](const auto& r, auto n) { loops::add_sign(r[1], r[3], 0.3F, r[0], n); }},
        {"limit", [](const auto& r, auto n) { loops::limit(r[3], -1, 1, r[0], n); }},
        {"add_product", [](const auto& r, auto n) { loops::add_product(r[1], r[3], r[0], n); }},
        {"normalisation_grad",
         [](const auto& r, auto n) { loops::normalisation_grad(r[3], r[1], 0.3F, 0.7F, 1.1F, r[0], n); }},
        {"add", [](const auto& r, auto n) { loops::add(r[3], r[0], n); }},
        {"scale", [](const auto& r, auto n) { loops::scale(0.3F, r[3], r[0], n); }},
        {"exp_minus", [](const auto& r, auto n) { loops::exp_minus(0.3F, r[3], r[0], n); }},
    };
}

std::vector<Loop> all_loops() {
    auto all = loops_of_operators();
    for (auto& update : loops_of_updates()) all.push_back(std::move(update));
    for (auto& loop : other_loops()) all.push_back(std::move(loop));
    return all;
}

class OfElements : public testing::TestWithParam<Loop> {};

TEST_P(OfElements, HasTheSameBitsInPiecesOfAnyLength) {
    const auto& loop = GetParam();
    auto expected = some_rows(1);
    for (std::size_t i = 0; i < length; ++i) run(loop, expected, i, i + 1);
    const auto bits = bits_of(expected);
    for (std::size_t begin = 0; begin < 20; ++begin)
        for (std::size_t end = begin; end <= length; ++end) {
            auto rows = some_rows(1);
            run(loop, rows, 0, begin);
            run(loop, rows, begin, end);
            run(loop, rows, end, length);
            ASSERT_EQ(bits_of(rows), bits) << "from " << begin << " to " << end;
        }
}

INSTANTIATE_TEST_SUITE_P(Loops, OfElements, testing::ValuesIn(all_loops()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace dtrain::kernels
