// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

/// The loops of loops.hpp for any other real type, in practice double: for checks, so they follow the
/// formulas directly.
namespace dtrain::kernels::loops {

template <class Real>
void relu(const Real* x, Real* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? Real(0) : x[i];
}

template <class Real>
void tanh(const Real* x, Real* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = std::tanh(x[i]);
}

template <class Real>
void sigmoid(const Real* x, Real* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = 1 / (1 + std::exp(-x[i]));
}

template <class Real>
void relu_grad(const Real* y, const Real* dy, Real* dx, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dx[i] = y[i] > 0 ? dy[i] : Real(0);
}

template <class Real>
void tanh_grad(const Real* y, const Real* dy, Real* dx, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dx[i] = dy[i] * (1 - y[i] * y[i]);
}

template <class Real>
void sigmoid_grad(const Real* y, const Real* dy, Real* dx, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dx[i] = dy[i] * y[i] * (1 - y[i]);
}

template <class Real>
void add(const Real* x, Real* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += x[i];
}

template <class Real>
void scale(Real a, const Real* x, Real* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i];
}

template <class Real>
Real exp_minus(Real a, const Real* x, Real* y, std::size_t n) {
    Real sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += y[i] = std::exp(x[i] - a);
    return sum;
}

template <class Real>
Real sum(const Real* x, std::size_t n) {
    Real result = 0;
    for (std::size_t i = 0; i < n; ++i) result += x[i];
    return result;
}

template <class Real>
Real dot(const Real* x, const Real* y, std::size_t n) {
    Real result = 0;
    for (std::size_t i = 0; i < n; ++i) result += x[i] * y[i];
    return result;
}

template <class Real>
Real max(const Real* x, std::size_t n) {
    return *std::max_element(x, x + n);
}

template <class Real>
void column_sum(const Real* x, Real* out, std::size_t rows, std::size_t columns) {
    std::fill_n(out, columns, Real(0));
    for (std::size_t row = 0; row < rows; ++row) add(x + row * columns, out, columns);
}

template <class Real>
void add_bias(const Real* bias, Real* y, std::size_t rows, std::size_t columns) {
    for (std::size_t row = 0; row < rows; ++row) add(bias, y + row * columns, columns);
}

template <class Real>
void add_bias_relu(const Real* bias, Real* y, std::size_t rows, std::size_t columns) {
    add_bias(bias, y, rows, columns);
    relu(y, y, rows * columns);
}

template <class Real>
void add_bias_tanh(const Real* bias, Real* y, std::size_t rows, std::size_t columns) {
    add_bias(bias, y, rows, columns);
    tanh(y, y, rows * columns);
}

template <class Real>
void add_bias_sigmoid(const Real* bias, Real* y, std::size_t rows, std::size_t columns) {
    add_bias(bias, y, rows, columns);
    sigmoid(y, y, rows * columns);
}

template <class Real>
void sqrt(const Real* x, Real* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = std::sqrt(x[i]);
}

template <class Real>
void sqrt_grad(const Real* y, const Real* dy, Real* dx, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dx[i] = dy[i] / (2 * y[i]);
}

template <class Real>
void subtract(const Real* x, const Real* y, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] - y[i];
}

template <class Real>
void multiply(const Real* x, const Real* y, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] * y[i];
}

template <class Real>
void divide(const Real* x, const Real* y, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] / y[i];
}

template <class Real>
void divisor_grad(const Real* y, const Real* out, const Real* dout, Real* dy, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dy[i] = -dout[i] * out[i] / y[i];
}

template <class Real>
void scale_and_shift(Real a, Real b, const Real* x, Real* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i] + b;
}

template <class Real>
void square_grad(const Real* x, const Real* dy, Real* dx, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dx[i] = 2 * x[i] * dy[i];
}

template <class Real>
void multiply_difference(const Real* y, const Real* x, Real a, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = y[i] * (x[i] - a);
}

template <class Real>
void add_scaled(const Real* x, const Real* y, Real a, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] + a * y[i];
}

template <class Real>
void add_sign(const Real* x, const Real* y, Real a, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] + (y[i] > 0 ? a : y[i] < 0 ? -a : Real(0));
}

template <class Real>
void limit(const Real* x, Real min, Real max, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] < min ? min : x[i] > max ? max : x[i];
}

template <class Real>
void add_product(const Real* x, const Real* y, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += x[i] * y[i];
}

template <class Real>
void normalisation_grad(const Real* g, const Real* h, Real a, Real b, Real c, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = c * (g[i] - a - b * h[i]);
}

template <class Real>
void bce_with_logits(const Real* x, const Real* label, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
        out[i] = std::max(x[i], Real(0)) - x[i] * label[i] + std::log1p(std::exp(-std::fabs(x[i])));
}

template <class Real>
void bce_with_logits_grad(const Real* x, const Real* label, const Real* dout, Real* dx, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dx[i] = dout[i] * (1 / (1 + std::exp(-x[i])) - label[i]);
}

template <class Real>
void sgd(Real* p, const Real* g, std::size_t n, Real rate) {
    for (std::size_t i = 0; i < n; ++i) p[i] -= rate * g[i];
}

template <class Real>
void momentum(Real* p, Real* v, const Real* g, std::size_t n, Real rate, Real mu) {
    for (std::size_t i = 0; i < n; ++i) {
        v[i] = mu * v[i] + g[i];
        p[i] -= rate * v[i];
    }
}

template <class Real>
void nesterov(Real* p, Real* v, const Real* g, std::size_t n, Real rate, Real mu) {
    for (std::size_t i = 0; i < n; ++i) {
        v[i] = mu * v[i] + g[i];
        p[i] -= rate * (g[i] + mu * v[i]);
    }
}

template <class Real>
void adagrad(Real* p, Real* s, const Real* g, std::size_t n, Real rate, Real epsilon) {
    for (std::size_t i = 0; i < n; ++i) {
        s[i] += g[i] * g[i];
        p[i] -= rate * g[i] / (std::sqrt(s[i]) + epsilon);
    }
}

template <class Real>
struct FtrlFactors {
    Real inverse_rate;
    Real beta;
    Real l1;
    Real l2;
};

template <class Real>
void ftrl(Real* p, Real* z, Real* s, const Real* g, std::size_t n, const FtrlFactors<Real>& factors) {
    for (std::size_t i = 0; i < n; ++i) {
        const Real before = std::sqrt(s[i]);
        s[i] += g[i] * g[i];
        const Real after = std::sqrt(s[i]);
        z[i] += g[i] - (after - before) * factors.inverse_rate * p[i];
        const Real far = std::max(std::fabs(z[i]) - factors.l1, Real(0));
        p[i] = -std::copysign(far, z[i]) / ((factors.beta + after) * factors.inverse_rate + factors.l2);
    }
}

template <class Real>
struct AdamFactors {
    Real rate;
    Real beta1;
    Real one_minus_beta1;
    Real beta2;
    Real one_minus_beta2;
    Real epsilon;
};

/// The factors that the loops below need for update number `step`, from 1 on, with settings named as in Adam.
template <class Real, class Settings>
AdamFactors<Real> adam_factors(const Settings& adam, double rate, std::int64_t step) {
    const auto t = static_cast<double>(step);
    const double correction = std::sqrt(1.0 - std::pow(adam.beta2, t));
    return {.rate = static_cast<Real>(rate * correction / (1.0 - std::pow(adam.beta1, t))),
            .beta1 = static_cast<Real>(adam.beta1),
            .one_minus_beta1 = static_cast<Real>(1.0 - adam.beta1),
            .beta2 = static_cast<Real>(adam.beta2),
            .one_minus_beta2 = static_cast<Real>(1.0 - adam.beta2),
            .epsilon = static_cast<Real>(adam.epsilon * correction)};
}

template <class Real>
void adam(Real* p, Real* m, Real* v, const Real* g, std::size_t n, const AdamFactors<Real>& factors) {
    for (std::size_t i = 0; i < n; ++i) {
        m[i] = factors.beta1 * m[i] + factors.one_minus_beta1 * g[i];
        v[i] = factors.beta2 * v[i] + factors.one_minus_beta2 * g[i] * g[i];
        p[i] -= factors.rate * m[i] / (std::sqrt(v[i]) + factors.epsilon);
    }
}

template <class Real>
void adamw(Real* p, Real* m, Real* v, const Real* g, std::size_t n, const AdamFactors<Real>& factors,
           Real kept) {
    scale(kept, p, p, n);
    adam(p, m, v, g, n, factors);
}

}  // namespace dtrain::kernels::loops
