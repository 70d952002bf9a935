// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <numeric>

#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

std::unique_ptr<Kernel> make_reshape(const KernelArguments& arguments) {
    return kernel_of([from = arguments.input("x").data, to = arguments.output("out").data,
                      bytes = arguments.input("x").bytes()] { std::memcpy(to, from, bytes); });
}

// A part of a tensor that is split along an axis, as a range of each slice of the whole.
struct Part {
    std::byte* data;
    std::size_t bytes;
};

struct Cut {
    std::byte* whole;
    std::vector<Part> parts;
    std::size_t slices;  // product of the whole's extents before the axis
};

Cut cut(const TensorView& whole, const std::vector<TensorView>& parts, std::int64_t axis) {
    const auto slices = static_cast<std::size_t>(std::accumulate(
        whole.shape.begin(), whole.shape.begin() + axis, std::int64_t{1}, std::multiplies<>()));
    Cut made{static_cast<std::byte*>(whole.data), {}, slices};
    for (const auto& part : parts)
        made.parts.push_back({static_cast<std::byte*>(part.data), part.bytes() / slices});
    return made;
}

std::unique_ptr<Kernel> make_concat(const KernelArguments& arguments) {
    return kernel_of([cut = cut(arguments.output("out"), arguments.inputs_of("x"), arguments.whole("axis"))] {
        auto* to = cut.whole;
        for (std::size_t slice = 0; slice < cut.slices; ++slice)
            for (const auto& [data, bytes] : cut.parts) {
                std::memcpy(to, data + slice * bytes, bytes);
                to += bytes;
            }
    });
}

std::unique_ptr<Kernel> make_split(const KernelArguments& arguments) {
    return kernel_of([cut = cut(arguments.input("x"), arguments.outputs_of("out"), arguments.whole("axis"))] {
        const auto* from = cut.whole;
        for (std::size_t slice = 0; slice < cut.slices; ++slice)
            for (const auto& [data, bytes] : cut.parts) {
                std::memcpy(data + slice * bytes, from, bytes);
                from += bytes;
            }
    });
}

}  // namespace

Entries shape_kernels() {
    return {{"concat", make_concat}, {"reshape", make_reshape}, {"split", make_split}};
}

}  // namespace dtrain::kernels
