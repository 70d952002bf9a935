// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/loops/update_loops.hpp"

#include <type_traits>

#include "kernels/loops/each_set.hpp"

namespace dtrain::kernels::loops {
namespace {

template <class Update, class Real>
EACH_SET void update_each(const Update& given, Real* __restrict p, Real* __restrict first,
                          Real* __restrict second, const Real* __restrict g, std::size_t n) {
    const auto update = given;  // kept in registers
    for (std::size_t i = 0; i < n; ++i) {
        if constexpr (std::is_invocable_v<Update, Real&, Real>)
            update(p[i], g[i]);
        else if constexpr (std::is_invocable_v<Update, Real&, Real&, Real>)
            update(p[i], first[i], g[i]);
        else
            update(p[i], first[i], second[i], g[i]);
    }
}

}  // namespace

template <class Real>
void update(const Update<Real>& update, Real* parameters, const std::array<Real*, max_state>& state,
            const Real* gradients, std::size_t n) {
    std::visit([&](const auto& rule) { update_each(rule, parameters, state[0], state[1], gradients, n); },
               update);
}

template void update(const Update<float>&, float*, const std::array<float*, max_state>&, const float*,
                     std::size_t);
template void update(const Update<double>&, double*, const std::array<double*, max_state>&, const double*,
                     std::size_t);

}  // namespace dtrain::kernels::loops
