// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "gpu/memory.hpp"
#include "gpu/operators/give.hpp"

namespace dtrain::gpu {
namespace {

std::unique_ptr<Kernel> make_reshape(KernelContext& context, const KernelArguments& arguments) {
    return kernels::kernel_of([&stream = context.stream, from = arguments.input("x").data,
                               to = arguments.output("out").data,
                               bytes = arguments.input("x").bytes()] { copy(stream, to, from, bytes); });
}

/// Some adjacent parts of a tensor that is split along an axis, as ranges of each slice of it.
template <class Word, bool to_parts>
struct CopyParts {
    static constexpr unsigned most = 8;

    Word* whole;
    std::size_t slice;  ///< length of a slice of the whole
    std::size_t begin;  ///< offset of the first part in a slice
    std::size_t width;  ///< of these parts together
    Word* parts[most];
    std::size_t widths[most];
    unsigned count;

    ON_DEVICE void operator()(std::size_t i) const {
        const auto [row, column] = position_of(i, width);
        std::size_t at = column;
        unsigned part = 0;
        while (at >= widths[part]) at -= widths[part++];
        Word& of_whole = whole[row * slice + begin + column];
        Word& of_part = parts[part][row * widths[part] + at];
        if constexpr (to_parts)
            of_part = of_whole;
        else
            of_whole = of_part;
    }
};

template <class Word, bool to_parts>
std::unique_ptr<Kernel> make_copies(KernelContext& context, const TensorView& whole,
                                    const std::vector<TensorView>& parts, std::int64_t axis) {
    using Copies = CopyParts<Word, to_parts>;
    const auto slices = static_cast<std::size_t>(std::accumulate(
        whole.shape.begin(), whole.shape.begin() + axis, std::int64_t{1}, std::multiplies<>()));
    std::vector<Copies> all;
    std::size_t begin = 0;
    for (const auto& part : parts) {
        if (all.empty() || all.back().count == Copies::most)
            all.push_back({static_cast<Word*>(whole.data), whole.size() / slices, begin, 0, {}, {}, 0});
        auto& copies = all.back();
        const auto width = part.size() / slices;
        copies.parts[copies.count] = static_cast<Word*>(part.data);
        copies.widths[copies.count++] = width;
        copies.width += width;
        begin += width;
    }
    return kernels::kernel_of([&stream = context.stream, slices, all = std::move(all)] {
        for (const auto& copies : all) for_each(stream, slices * copies.width, copies);
    });
}

template <bool to_parts>
std::unique_ptr<Kernel> make_cut(KernelContext& context, const KernelArguments& arguments) {
    const auto whole = to_parts ? arguments.input("x") : arguments.output("out");
    const auto parts = to_parts ? arguments.outputs_of("out") : arguments.inputs_of("x");
    const auto axis = arguments.whole("axis");
    return size_of(whole.type) == sizeof(std::uint64_t)
               ? make_copies<std::uint64_t, to_parts>(context, whole, parts, axis)
               : make_copies<std::uint32_t, to_parts>(context, whole, parts, axis);
}

}  // namespace

Entries shape_kernels() {
    return {{"concat", make_cut<false>}, {"reshape", make_reshape}, {"split", make_cut<true>}};
}

}  // namespace dtrain::gpu
