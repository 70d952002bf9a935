// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "gpu/operators/give.hpp"
#include "gpu/operators/pieces.hpp"
#include "gpu/operators/table.hpp"
#include "kernels/loss_scale.hpp"

namespace dtrain::gpu {
namespace {

using kernels::LossScaleRule;

/// Counts the threads of each block that found an infinity or a NaN.
struct CountBad {
    const Piece<float>* pieces;
    int* bad;

    ON_GPU void operator()(const Block& block) const {
        constexpr float largest = 0x1.fffffep127F;
        const auto [x, count] = pieces[block.number()];
        int any = 0;
        for (std::size_t i = block.thread(); i < count; i += block.threads())
            if (!(std::fabs(x[i]) <= largest)) any = 1;
        const int sum = block.sum(any);
        if (block.thread() == 0) bad[block.number()] = sum;
    }
};

/// One block: decides whether this step is skipped, and computes the scale of the next one. Changes no state
/// if the data are invalid.
struct Decide {
    int* bad;
    std::size_t count;
    float* factor;
    float* scale;
    std::int64_t* good_steps;
    std::int64_t* skip;
    LossScaleRule rule;
    DeviceError error;

    ON_GPU void operator()(const Block& block) const {
        int mine = 0;
        for (std::size_t i = block.thread(); i < count; i += block.threads()) mine += bad[i];
        const bool finite = block.sum(mine) == 0;
        if (block.thread() != 0) return;
        *factor = 1 / *scale;
        *skip = finite ? 0 : 1;
        if (error.is_any()) return;
        const auto next = kernels::after_step({*scale, *good_steps}, rule, finite);
        *scale = next.scale;
        *good_steps = next.good_steps;
    }
};

struct Unscale {
    const Piece<float>* pieces;
    const float* factor;
    const std::int64_t* skip;

    ON_GPU void operator()(const Block& block) const {
        if (*skip != 0) return;
        const auto [x, count] = pieces[block.number()];
        for (std::size_t i = block.thread(); i < count; i += block.threads()) x[i] *= *factor;
    }
};

std::unique_ptr<Kernel> make_unscale_gradients(KernelContext& context, const KernelArguments& arguments) {
    const auto pieces = pieces_of<float>(arguments.outputs_of("gradient"));
    auto counts = allocate(pieces.size() * sizeof(int));
    auto one = allocate(sizeof(float));
    auto* bad = reinterpret_cast<int*>(counts.get());
    auto* factor = reinterpret_cast<float*>(one.get());
    const Decide decide{bad,
                        pieces.size(),
                        factor,
                        arguments.out("scale").data(),
                        arguments.out<std::int64_t>("good_steps").data(),
                        arguments.out<std::int64_t>("skip").data(),
                        kernels::loss_scale_rule(arguments),
                        context.any_error()};
    return kernels::kernel_of([&stream = context.stream, table = Table<Piece<float>>(context.stream, pieces),
                               counts = std::move(counts), one = std::move(one), decide] {
        launch(stream, table.size(), 256, CountBad{table.data(), decide.bad});
        launch(stream, 1, threads_for(table.size()), decide);
        launch(stream, table.size(), 256, Unscale{table.data(), decide.factor, decide.skip});
    });
}

}  // namespace

Entries loss_scaling_kernels() {
    return {{"unscale_gradients", make_unscale_gradients}};
}

}  // namespace dtrain::gpu
