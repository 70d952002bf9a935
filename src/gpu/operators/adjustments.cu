// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "gpu/operators/pieces.hpp"
#include "gpu/operators/sums.hpp"
#include "gpu/operators/table.hpp"
#include "gpu/operators/updated.hpp"

namespace dtrain::gpu {
namespace {

template <class Real>
struct WithSign {
    static constexpr const char* name = "l1_decay";
    ON_DEVICE static Real of(Real g, Real p, Real coefficient) {
        return g + (p > 0 ? coefficient : p < 0 ? -coefficient : Real(0));
    }
};

template <class Real>
struct WithScaled {
    static constexpr const char* name = "l2_decay";
    ON_DEVICE static Real of(Real g, Real p, Real coefficient) { return g + coefficient * p; }
};

template <class Real, class Decay>
struct Decayed {
    UpdatedElements elements;
    const Real* parameter;
    const Real* gradient;
    Real coefficient;
    Real* out;

    ON_DEVICE void operator()(std::size_t i) const {
        std::size_t at = 0;
        out[i] = elements.find(i, at) ? Decay::of(gradient[i], parameter[at], coefficient) : gradient[i];
    }
};

template <class Real, class Decay>
std::unique_ptr<Kernel> make_decay(KernelContext& context, const KernelArguments& arguments) {
    refuse_part(Decay::name, arguments);
    const UpdatedElements elements(arguments);
    return kernel_for_each(context, elements.count(),
                           Decayed<Real, Decay>{elements, arguments.in<Real>("parameter").data(),
                                                arguments.in<Real>("gradient").data(),
                                                static_cast<Real>(arguments.number("coefficient")),
                                                arguments.out<Real>("out").data()});
}

template <class Real>
struct Limited {
    const Real* x;
    Real least;
    Real most;
    Real* out;
    ON_DEVICE void operator()(std::size_t i) const {
        out[i] = x[i] < least ? least : x[i] > most ? most : x[i];
    }
};

template <class Real>
std::unique_ptr<Kernel> make_clip_by_value(KernelContext& context, const KernelArguments& arguments) {
    const auto out = arguments.out<Real>("out");
    return kernel_for_each(
        context, out.size(),
        Limited<Real>{arguments.in<Real>("x").data(), static_cast<Real>(arguments.number("min")),
                      static_cast<Real>(arguments.number("max")), out.data()});
}

/// The factor that scales a norm down to the allowed maximum.
template <class Real>
ON_DEVICE Real factor_for(Real squares, Real largest) {
    const Real norm = std::sqrt(squares);
    return norm > largest ? largest / norm : Real(1);
}

/// Each block sums the partial sums of squares itself.
template <class Real>
struct ScaledToNorm {
    const Real* squares;
    std::size_t partials;
    Real largest;
    const Real* x;
    Real* out;
    std::size_t count;
    std::size_t per_block;

    ON_GPU void operator()(const Block& block) const {
        const Real factor = factor_for(sum_of<Real>(block, Elements<Real>{squares}, 0, partials), largest);
        const auto begin = std::size_t{block.number()} * per_block;
        const auto end = begin + per_block < count ? begin + per_block : count;
        for (std::size_t i = begin + block.thread(); i < end; i += block.threads()) out[i] = factor * x[i];
    }
};

template <class Real>
std::unique_ptr<Kernel> make_clip_by_norm(KernelContext& context, const KernelArguments& arguments) {
    const auto x = arguments.in<Real>("x");
    constexpr std::size_t per_block = 4096;  // elements
    return kernels::kernel_of([&stream = context.stream, squares = Partials<Real>(x.size()), x,
                               out = arguments.out<Real>("out").data(),
                               largest = static_cast<Real>(arguments.number("norm"))] {
        squares.run(stream, Products<Real>{x.data(), x.data()}, x.size());
        launch(
            stream, (x.size() + per_block - 1) / per_block, 256,
            ScaledToNorm<Real>{squares.data(), squares.count(), largest, x.data(), out, x.size(), per_block});
    });
}

/// The sum of squares of each piece.
template <class Real>
struct SquaresOfPieces {
    const Piece<Real>* pieces;
    Real* squares;

    ON_GPU void operator()(const Block& block) const {
        const auto [x, count] = pieces[block.number()];
        const Real sum = sum_of<Real>(block, Products<Real>{x, x}, 0, count);
        if (block.thread() == 0) squares[block.number()] = sum;
    }
};

template <class Real>
struct StoreFactor {
    Real largest;
    Real* out;
    ON_DEVICE void operator()(Real squares) const { *out = factor_for(squares, largest); }
};

template <class Real>
std::unique_ptr<Kernel> make_global_norm_factor(KernelContext& context, const KernelArguments& arguments) {
    const auto pieces = pieces_of<Real>(arguments.inputs_of("x"));
    return kernels::kernel_of([&stream = context.stream, table = Table<Piece<Real>>(context.stream, pieces),
                               squares = allocate(pieces.size() * sizeof(Real)),
                               finish = StoreFactor<Real>{static_cast<Real>(arguments.number("norm")),
                                                          arguments.out<Real>("out").data()}] {
        auto* sums = reinterpret_cast<Real*>(squares.get());
        launch(stream, table.size(), 256, SquaresOfPieces<Real>{table.data(), sums});
        launch(stream, 1, threads_for(table.size()),
               FinishedSum<Real, Elements<Real>, StoreFactor<Real>>{{sums}, table.size(), finish});
    });
}

template <class Real>
std::unique_ptr<Kernel> make_scale_by(KernelContext& context, const KernelArguments& arguments) {
    const auto out = arguments.out<Real>("out");
    return kernel_for_each(
        context, out.size(),
        ScaledBy<Real>{arguments.in<Real>("x").data(), arguments.in<Real>("factor").data(), out.data()});
}

template <template <class> class Decay>
constexpr Factory decay = by_type<make_decay<float, Decay<float>>, make_decay<double, Decay<double>>>;

}  // namespace

Entries adjustment_kernels() {
    return {
        {"clip_by_norm", by_type<make_clip_by_norm<float>, make_clip_by_norm<double>>},
        {"clip_by_value", by_type<make_clip_by_value<float>, make_clip_by_value<double>>},
        {"global_norm_factor", by_type<make_global_norm_factor<float>, make_global_norm_factor<double>>},
        {"l1_decay", decay<WithSign>},
        {"l2_decay", decay<WithScaled>},
        {"scale_by", by_type<make_scale_by<float>, make_scale_by<double>>},
    };
}

}  // namespace dtrain::gpu
