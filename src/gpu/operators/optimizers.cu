// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "gpu/operators/updated.hpp"
#include "kernels/rate.hpp"
#include "kernels/update_arguments.hpp"

namespace dtrain::gpu {
namespace {

using kernels::max_state;
using kernels::Rate;
using kernels::SettingValues;

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
    static constexpr std::size_t per_block = 1024;  // elements
    static constexpr std::size_t states = Rule::state.size();

    Real* parameters;
    Real* state[max_state];
    const Real* gradient;
    UpdatedElements elements;
    std::size_t count;
    SettingValues<Rule> values;
    Rate rate;
    const std::int64_t* step;  ///< null: the rule depends on none
    Gate gate;
    Counter counter;
    unsigned blocks;

    ON_GPU void operator()(const Block& block) const {
        if (gate.is_closed()) return;
        const auto update = of_step(block);
        if (counter.step != nullptr && block.thread() == 0) counter.note_read(blocks);
        if (Rule::is_idle(rate())) return;
        const auto begin = std::size_t{block.number()} * per_block;
        const auto end = begin + per_block < count ? begin + per_block : count;
        std::size_t at = 0;
        for (std::size_t i = begin + block.thread(); i < end; i += block.threads())
            if (elements.find(i, at)) apply(update, at, gradient[i]);
    }

  private:
    using OfStep = typename Rule::template Update<Real>;

    /// What depends on the step is slow to compute: one thread does it for its block.
    ON_GPU OfStep of_step(const Block& block) const {
        if constexpr (Rule::counter.empty()) {
            return Rule::template update<Real>(values, rate(), 0);
        } else {
            OfStep update{};
            if (block.thread() == 0)
                update =
                    Rule::template update<Real>(values, rate(), *step + (counter.step != nullptr ? 1 : 0));
            return block.of_first(update);
        }
    }

    /// The state is in registers meanwhile: the compiler cannot know that its memory does not overlap.
    ON_GPU void apply(const OfStep& update, std::size_t at, Real g) const {
        Real p = parameters[at];
        if constexpr (states == 0) {
            update(p, g);
        } else if constexpr (states == 1) {
            Real first = state[0][at];
            update(p, first, g);
            state[0][at] = first;
        } else {
            Real first = state[0][at];
            Real second = state[1][at];
            update(p, first, second, g);
            state[0][at] = first;
            state[1][at] = second;
        }
        parameters[at] = p;
    }
};

template <class Rule, class Real>
std::unique_ptr<Kernel> make_update(KernelContext& context, const KernelArguments& arguments) {
    refuse_part(Rule::type, arguments);
    const UpdatedElements elements(arguments);
    using Body = Update<Real, Rule>;
    const auto blocks = (elements.count() + Body::per_block - 1) / Body::per_block;
    const auto arrived = allocate(sizeof(unsigned));
    Body body{arguments.out<Real>("parameter").data(),
              {},
              arguments.in<Real>("gradient").data(),
              elements,
              elements.count(),
              kernels::values_of<Rule>(arguments),
              Rate(arguments),
              kernels::step_of<Rule>(arguments),
              Gate(context, arguments),
              {Counter::of(arguments), reinterpret_cast<unsigned*>(arrived.get())},
              static_cast<unsigned>(blocks)};
    std::ranges::copy(kernels::state_of<Rule, Real>(arguments), body.state);
    return kernels::kernel_of([&stream = context.stream, blocks, threads = threads_for(elements.count()),
                               arrived, body] { launch(stream, blocks, threads, body); });
}

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

}  // namespace

Entries optimizer_kernels() {
    Entries entries{{"increment", make_increment}};
    kernels::UpdateRules::for_each([&]<class Rule>(std::type_identity<Rule>) {
        entries.push_back({Rule::type, by_type<make_update<Rule, float>, make_update<Rule, double>>});
    });
    return entries;
}

}  // namespace dtrain::gpu
