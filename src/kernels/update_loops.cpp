// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/each_set.hpp"
#include "kernels/loops.hpp"

namespace dtrain::kernels::loops {

EACH_SET void sgd(float* p, const float* g, std::size_t n, float rate) {
    for (std::size_t i = 0; i < n; ++i) p[i] -= rate * g[i];
}

EACH_SET void momentum(float* p, float* v, const float* g, std::size_t n, float rate, float mu) {
    for (std::size_t i = 0; i < n; ++i) {
        v[i] = mu * v[i] + g[i];
        p[i] -= rate * v[i];
    }
}

EACH_SET void adam(float* __restrict p, float* __restrict m, float* __restrict v, const float* __restrict g,
                   std::size_t n, const AdamFactors<float>& all) {
    const auto factors = all;  // kept in registers
    for (std::size_t i = 0; i < n; ++i) {
        m[i] = factors.beta1 * m[i] + factors.one_minus_beta1 * g[i];
        v[i] = factors.beta2 * v[i] + factors.one_minus_beta2 * g[i] * g[i];
        p[i] -= factors.rate * m[i] / (std::sqrt(v[i]) + factors.epsilon);
    }
}

EACH_SET void nesterov(float* __restrict p, float* __restrict v, const float* __restrict g, std::size_t n,
                       float rate, float mu) {
    for (std::size_t i = 0; i < n; ++i) {
        v[i] = mu * v[i] + g[i];
        p[i] -= rate * (g[i] + mu * v[i]);
    }
}

EACH_SET void adagrad(float* __restrict p, float* __restrict s, const float* __restrict g, std::size_t n,
                      float rate, float epsilon) {
    for (std::size_t i = 0; i < n; ++i) {
        s[i] += g[i] * g[i];
        p[i] -= rate * g[i] / (std::sqrt(s[i]) + epsilon);
    }
}

EACH_SET void ftrl(float* __restrict p, float* __restrict z, float* __restrict s, const float* __restrict g,
                   std::size_t n, const FtrlFactors<float>& all) {
    const auto factors = all;
    for (std::size_t i = 0; i < n; ++i) {
        const float before = std::sqrt(s[i]);
        s[i] += g[i] * g[i];
        const float after = std::sqrt(s[i]);
        z[i] += g[i] - (after - before) * factors.inverse_rate * p[i];
        const float beyond = std::fabs(z[i]) - factors.l1;
        const float far = beyond > 0.0F ? beyond : 0.0F;
        p[i] = -std::copysign(far, z[i]) / ((factors.beta + after) * factors.inverse_rate + factors.l2);
    }
}

EACH_SET void adamw(float* __restrict p, float* __restrict m, float* __restrict v, const float* __restrict g,
                    std::size_t n, const AdamFactors<float>& all, float kept) {
    const auto factors = all;
    for (std::size_t i = 0; i < n; ++i) {
        m[i] = factors.beta1 * m[i] + factors.one_minus_beta1 * g[i];
        v[i] = factors.beta2 * v[i] + factors.one_minus_beta2 * g[i] * g[i];
        p[i] = kept * p[i] - factors.rate * m[i] / (std::sqrt(v[i]) + factors.epsilon);
    }
}

}  // namespace dtrain::kernels::loops
