// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "gpu/on_device.hpp"

/// Element-wise functions, as in kernels/plain_loops.hpp.
namespace dtrain::gpu {

/// NaN propagates.
template <class Real>
ON_DEVICE Real rectified(Real x) {
    return x < 0 ? Real(0) : x;
}

template <class Real>
ON_DEVICE Real logistic(Real x) {
    return 1 / (1 + std::exp(-x));
}

struct Relu {
    template <class Real>
    ON_DEVICE static Real value(Real x) {
        return rectified(x);
    }
    template <class Real>
    ON_DEVICE static Real gradient(Real y, Real dy) {
        return y > 0 ? dy : Real(0);
    }
};

struct Tanh {
    template <class Real>
    ON_DEVICE static Real value(Real x) {
        return std::tanh(x);
    }
    template <class Real>
    ON_DEVICE static Real gradient(Real y, Real dy) {
        return dy * (1 - y * y);
    }
};

struct Sigmoid {
    template <class Real>
    ON_DEVICE static Real value(Real x) {
        return logistic(x);
    }
    template <class Real>
    ON_DEVICE static Real gradient(Real y, Real dy) {
        return dy * y * (1 - y);
    }
};

struct Sqrt {
    template <class Real>
    ON_DEVICE static Real value(Real x) {
        return std::sqrt(x);
    }
    template <class Real>
    ON_DEVICE static Real gradient(Real y, Real dy) {
        return dy / (2 * y);
    }
};

struct Nothing {
    template <class Real>
    ON_DEVICE static Real value(Real x) {
        return x;
    }
};

struct Minus {
    template <class Real>
    ON_DEVICE static Real value(Real x, Real y) {
        return x - y;
    }
};

struct Times {
    template <class Real>
    ON_DEVICE static Real value(Real x, Real y) {
        return x * y;
    }
};

struct Over {
    template <class Real>
    ON_DEVICE static Real value(Real x, Real y) {
        return x / y;
    }
};

struct SquareGradient {
    template <class Real>
    ON_DEVICE static Real value(Real x, Real dy) {
        return 2 * x * dy;
    }
};

/// dy of out = x / y
struct DivisorGradient {
    template <class Real>
    ON_DEVICE static Real value(Real y, Real out, Real dout) {
        return -dout * out / y;
    }
};

struct CrossEntropyWithLogits {
    template <class Real>
    ON_DEVICE static Real value(Real x, Real label) {
        return rectified(x) - x * label + std::log1p(std::exp(-std::fabs(x)));
    }
};

struct CrossEntropyWithLogitsGradient {
    template <class Real>
    ON_DEVICE static Real value(Real x, Real label, Real dout) {
        return dout * (logistic(x) - label);
    }
};

}  // namespace dtrain::gpu
