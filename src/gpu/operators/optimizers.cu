// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "gpu/operators/updated.hpp"
#include "kernels/rate.hpp"

namespace dtrain::gpu {
namespace {

using kernels::Rate;

/// Whether a step may update anything: no invalid data were reported, and no input "skip" excludes it.
struct Gate {
    DeviceError error;
    const std::int64_t* skip;

    Gate(const KernelContext& context, const KernelArguments& arguments)
        : error(context.any_error()),
          skip(arguments.has_input("skip") ? arguments.in<std::int64_t>("skip").data() : nullptr) {}

    ON_DEVICE bool is_closed() const { return error.is_any() || (skip != nullptr && *skip != 0); }
};

/// The step counter, if an update also increments it: blocks use the number of their own step, and the last
/// block that has read the old number writes the new one.
struct Counter {
    std::int64_t* step;  ///< null: the update does not increment it
    unsigned* arrived;

    static std::int64_t* of(const KernelArguments& arguments) {
        const auto at = std::ranges::find(arguments.outputs, "step", &kernels::SlotTensor::slot);
        return at == arguments.outputs.end() ? nullptr : at->tensor.as<std::int64_t>().data();
    }

    /// Called by one thread of each block, after the block has read the number.
    ON_DEVICE void note_read(unsigned blocks) const {
        if (is_last_of(blocks)) ++*step;
    }

  private:
    ON_DEVICE bool is_last_of(unsigned blocks) const {
#ifdef __CUDA_ARCH__
        __threadfence();
        return atomicInc(arrived, blocks - 1) == blocks - 1;  // the last one resets it to 0
#else
        if (++*arrived < blocks) return false;
        *arrived = 0;
        return true;
#endif
    }
};

/// Applies a rule to all elements that the gradient belongs to, with factors that each block computes once.
template <class Real, class Rule>
struct Update {
    static constexpr std::size_t share = 1024;  // elements per block

    Rule rule;
    UpdatedElements elements;
    const Real* gradient;
    std::size_t count;
    Gate gate;
    Counter counter;
    unsigned blocks;

    ON_GPU void operator()(const Block& block) const {
        if (gate.is_closed()) return;
        const auto factors = rule.factors(block);
        if (counter.step != nullptr && block.thread() == 0) counter.note_read(blocks);
        const auto begin = std::size_t{block.number()} * share;
        const auto end = begin + share < count ? begin + share : count;
        std::size_t at = 0;
        for (std::size_t i = begin + block.thread(); i < end; i += block.threads())
            if (elements.find(i, at)) rule.update(factors, at, gradient[i]);
    }
};

template <class Real, class Rule>
std::unique_ptr<Kernel> make_update(KernelContext& context, const KernelArguments& arguments) {
    refuse_part(Rule::name, arguments);
    const UpdatedElements elements(arguments);
    using Body = Update<Real, Rule>;
    const auto blocks = (elements.count() + Body::share - 1) / Body::share;
    const auto arrived = allocate(sizeof(unsigned));
    const Body body{Rule::from(arguments),
                    elements,
                    arguments.in<Real>("gradient").data(),
                    elements.count(),
                    Gate(context, arguments),
                    {Counter::of(arguments), reinterpret_cast<unsigned*>(arrived.get())},
                    static_cast<unsigned>(blocks)};
    return kernels::kernel_of([&stream = context.stream, blocks, threads = threads_for(elements.count()),
                               arrived, body] { launch(stream, blocks, threads, body); });
}

template <class Real>
Real* memory(const KernelArguments& arguments, std::string_view slot) {
    return arguments.out<Real>(slot).data();
}

template <class Real>
Real setting(const KernelArguments& arguments, std::string_view attribute) {
    return static_cast<Real>(arguments.number(attribute));
}

template <class Real>
struct Sgd {
    static constexpr const char* name = "sgd";
    Real* p;
    Rate rate;

    static Sgd from(const KernelArguments& arguments) {
        return {memory<Real>(arguments, "parameter"), Rate(arguments)};
    }
    ON_GPU Real factors(const Block& /*block*/) const { return static_cast<Real>(rate()); }
    ON_GPU void update(Real r, std::size_t at, Real g) const { p[at] -= r * g; }
};

template <class Real>
struct Momentum {
    static constexpr const char* name = "momentum";
    Real* p;
    Real* velocity;
    Rate rate;
    Real mu;
    bool is_nesterov;

    static Momentum from(const KernelArguments& arguments) {
        return {memory<Real>(arguments, "parameter"), memory<Real>(arguments, "velocity"), Rate(arguments),
                setting<Real>(arguments, "mu"), arguments.whole("nesterov") != 0};
    }
    ON_GPU Real factors(const Block& /*block*/) const { return static_cast<Real>(rate()); }
    ON_GPU void update(Real r, std::size_t at, Real g) const {
        const Real v = velocity[at] = mu * velocity[at] + g;
        p[at] -= r * (is_nesterov ? g + mu * v : v);
    }
};

template <class Real>
struct Adagrad {
    static constexpr const char* name = "adagrad";
    Real* p;
    Real* squares;
    Rate rate;
    Real epsilon;

    static Adagrad from(const KernelArguments& arguments) {
        return {memory<Real>(arguments, "parameter"), memory<Real>(arguments, "squares"), Rate(arguments),
                setting<Real>(arguments, "epsilon")};
    }
    ON_GPU Real factors(const Block& /*block*/) const { return static_cast<Real>(rate()); }
    ON_GPU void update(Real r, std::size_t at, Real g) const {
        const Real s = squares[at] += g * g;
        p[at] -= r * g / (std::sqrt(s) + epsilon);
    }
};

/// Both forms of Adam: weights that decay are first scaled by 1 - rate weight_decay.
template <class Real, bool decays>
struct Adam {
    static constexpr const char* name = decays ? "adamw" : "adam";
    Real* p;
    Real* moment1;
    Real* moment2;
    const std::int64_t* step;
    std::int64_t ahead;  ///< added to the current value of `step`
    Rate rate;
    double beta1;
    double beta2;
    double epsilon;
    double decay;

    struct Factors {
        Real rate;
        Real epsilon;
        Real kept;
    };

    static Adam from(const KernelArguments& arguments) {
        return {memory<Real>(arguments, "parameter"),
                memory<Real>(arguments, "moment1"),
                memory<Real>(arguments, "moment2"),
                arguments.in<std::int64_t>("step").data(),
                Counter::of(arguments) != nullptr ? 1 : 0,
                Rate(arguments),
                arguments.number("beta1"),
                arguments.number("beta2"),
                arguments.number("epsilon"),
                decays ? arguments.number("weight_decay") : 0.0};
    }

    /// Powers are slow: one thread computes them for its block.
    ON_GPU Factors factors(const Block& block) const {
        double scaled_rate = 0;
        double scaled_epsilon = 0;
        if (block.thread() == 0) {
            const auto t = static_cast<double>(*step + ahead);
            const double correction = std::sqrt(1.0 - std::pow(beta2, t));
            scaled_rate = rate() * correction / (1.0 - std::pow(beta1, t));
            scaled_epsilon = epsilon * correction;
        }
        return {static_cast<Real>(block.sum(scaled_rate)), static_cast<Real>(block.sum(scaled_epsilon)),
                static_cast<Real>(1.0 - rate() * decay)};
    }

    ON_GPU void update(const Factors& factors, std::size_t at, Real g) const {
        const Real m = moment1[at] =
            static_cast<Real>(beta1) * moment1[at] + static_cast<Real>(1.0 - beta1) * g;
        const Real v = moment2[at] =
            static_cast<Real>(beta2) * moment2[at] + static_cast<Real>(1.0 - beta2) * g * g;
        const Real before = decays ? factors.kept * p[at] : p[at];
        p[at] = before - factors.rate * m / (std::sqrt(v) + factors.epsilon);
    }
};

template <class Real>
struct Ftrl {
    static constexpr const char* name = "ftrl";
    Real* p;
    Real* linear;
    Real* squares;
    Rate rate;
    Real beta;
    Real l1;
    Real l2;

    static Ftrl from(const KernelArguments& arguments) {
        return {memory<Real>(arguments, "parameter"), memory<Real>(arguments, "linear"),
                memory<Real>(arguments, "squares"),   Rate(arguments),
                setting<Real>(arguments, "beta"),     setting<Real>(arguments, "l1"),
                setting<Real>(arguments, "l2")};
    }

    /// 1 / rate, or 0 if nothing is to be done: the first step of a warm-up.
    ON_GPU Real factors(const Block& /*block*/) const {
        return rate() <= 0 ? Real(0) : static_cast<Real>(1.0 / rate());
    }

    ON_GPU void update(Real inverse_rate, std::size_t at, Real g) const {
        if (inverse_rate == 0) return;
        const Real before = std::sqrt(squares[at]);
        const Real after = std::sqrt(squares[at] += g * g);
        const Real z = linear[at] += g - (after - before) * inverse_rate * p[at];
        const Real beyond = std::fabs(z) - l1;
        const Real far = beyond > 0 ? beyond : Real(0);
        p[at] = -std::copysign(far, z) / ((beta + after) * inverse_rate + l2);
    }
};

struct Increment {
    std::int64_t* step;
    Gate gate;
    ON_DEVICE void operator()(std::size_t /*one*/) const {
        if (!gate.is_closed()) ++*step;
    }
};

std::unique_ptr<Kernel> make_increment(KernelContext& context, const KernelArguments& arguments) {
    return kernel_for_each(context, 1,
                           Increment{arguments.out<std::int64_t>("step").data(), Gate(context, arguments)});
}

template <class OfFloat, class OfDouble>
constexpr Factory update = by_type<make_update<float, OfFloat>, make_update<double, OfDouble>>;

}  // namespace

Entries optimizer_kernels() {
    return {
        {"adagrad", update<Adagrad<float>, Adagrad<double>>},
        {"adam", update<Adam<float, false>, Adam<double, false>>},
        {"adamw", update<Adam<float, true>, Adam<double, true>>},
        {"ftrl", update<Ftrl<float>, Ftrl<double>>},
        {"increment", make_increment},
        {"momentum", update<Momentum<float>, Momentum<double>>},
        {"sgd", update<Sgd<float>, Sgd<double>>},
    };
}

}  // namespace dtrain::gpu
