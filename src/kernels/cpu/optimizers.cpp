// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/loops/update_loops.hpp"
#include "kernels/operators.hpp"
#include "kernels/rate.hpp"
#include "kernels/update_arguments.hpp"
#include "kernels/updated_rows.hpp"

namespace dtrain::kernels {
namespace {

std::unique_ptr<Kernel> make_increment(const KernelArguments& arguments) {
    return kernel_of([step = arguments.output("step").as<std::int64_t>()] { ++step[0]; });
}

template <class Rule, class Real>
std::unique_ptr<Kernel> make_update(const KernelArguments& arguments) {
    return kernel_of([rows = UpdatedRows(arguments), parameters = arguments.out<Real>("parameter").data(),
                      state = state_of<Rule, Real>(arguments),
                      gradients = arguments.in<Real>("gradient").data(), step = step_of<Rule>(arguments),
                      rate = Rate(arguments), values = values_of<Rule>(arguments)] {
        if (Rule::is_idle(rate())) return;
        const loops::Update<Real> update =
            Rule::template update<Real>(values, rate(), step != nullptr ? *step : 0);
        rows.for_each([&](std::size_t at, std::size_t from, std::size_t n) {
            std::array<Real*, max_state> state_at{};
            std::ranges::transform(state, state_at.begin(), [&](Real* all) { return all + at; });
            loops::update(update, parameters + at, state_at, gradients + from, n);
        });
    });
}

// Does nothing in a step that its input "skip" excludes.
template <Factory make>
std::unique_ptr<Kernel> unless_skipped(const KernelArguments& arguments) {
    if (!arguments.has_input("skip")) return make(arguments);
    return kernel_of([kernel = make(arguments), skip = arguments.in<std::int64_t>("skip").data()] {
        if (*skip == 0) kernel->run();
    });
}

}  // namespace

Entries optimizer_kernels() {
    Entries entries{{"increment", unless_skipped<make_increment>}};
    UpdateRules::for_each([&]<class Rule>(std::type_identity<Rule>) {
        entries.push_back(
            {Rule::type, unless_skipped<by_type<make_update<Rule, float>, make_update<Rule, double>>>});
    });
    return entries;
}

}  // namespace dtrain::kernels
