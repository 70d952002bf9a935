// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include <dtrain/optimizer.hpp>

#include "kernels/loops.hpp"

/// The updates of one row: weights p, states one after the other in `state`, gradient g, n floats each. They
/// use the same loops as the operators of a Program, so the bits are those of a dense parameter.
namespace dtrain::ps {

namespace loops = kernels::loops;

struct SgdUpdate {
    static constexpr std::size_t states = 0;
    float rate;
    void operator()(float* p, float* /*state*/, const float* g, std::size_t n) const {
        loops::sgd(p, g, n, rate);
    }
};

struct MomentumUpdate {
    static constexpr std::size_t states = 1;
    float rate;
    float mu;
    void operator()(float* p, float* state, const float* g, std::size_t n) const {
        loops::momentum(p, state, g, n, rate, mu);
    }
};

struct NesterovUpdate {
    static constexpr std::size_t states = 1;
    float rate;
    float mu;
    void operator()(float* p, float* state, const float* g, std::size_t n) const {
        loops::nesterov(p, state, g, n, rate, mu);
    }
};

struct AdagradUpdate {
    static constexpr std::size_t states = 1;
    float rate;
    float epsilon;
    void operator()(float* p, float* state, const float* g, std::size_t n) const {
        loops::adagrad(p, state, g, n, rate, epsilon);
    }
};

struct AdamUpdate {
    static constexpr std::size_t states = 2;
    loops::AdamFactors<float> factors;
    void operator()(float* p, float* state, const float* g, std::size_t n) const {
        loops::adam(p, state, state + n, g, n, factors);
    }
};

struct AdamWUpdate {
    static constexpr std::size_t states = 2;
    loops::AdamFactors<float> factors;
    float kept;
    void operator()(float* p, float* state, const float* g, std::size_t n) const {
        loops::adamw(p, state, state + n, g, n, factors, kept);
    }
};

struct FtrlUpdate {
    static constexpr std::size_t states = 2;
    loops::FtrlFactors<float> factors;
    void operator()(float* p, float* state, const float* g, std::size_t n) const {
        loops::ftrl(p, state, state + n, g, n, factors);
    }
};

/// Leaves rows unchanged: FTRL with a learning rate of zero.
struct NoUpdate {
    static constexpr std::size_t states = 0;
    void operator()(float* /*p*/, float* /*state*/, const float* /*g*/, std::size_t /*n*/) const {}
};

using RowUpdate = std::variant<SgdUpdate, MomentumUpdate, NesterovUpdate, AdagradUpdate, AdamUpdate,
                               AdamWUpdate, FtrlUpdate, NoUpdate>;

/// @param rate learning rate, instead of the optimizer's own
/// @param step 1, 2, ...: Adam's t
RowUpdate row_update(const Optimizer& optimizer, double rate, std::int64_t step);

/// Number of state floats per weight.
std::size_t states_of(const Optimizer& optimizer);

/// Initial value of the state.
float initial_state(const Optimizer& optimizer);

double learning_rate_of(const Optimizer& optimizer);

}  // namespace dtrain::ps
