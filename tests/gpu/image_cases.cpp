// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/operator_case.hpp"

namespace dtrain::tests {
namespace {

using Pair = std::vector<std::int64_t>;

struct Images {
    std::int64_t batch;
    std::int64_t in_channels;
    std::int64_t out_channels;
    Pair size;
    Pair window;
    Pair stride;
    Pair padding;

    std::int64_t result(std::size_t axis) const {
        return (size[axis] + 2 * padding[axis] - window[axis]) / stride[axis] + 1;
    }
};

const std::vector<Images> all_images{
    {1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0}}, {5, 1, 3, {7, 9}, {3, 3}, {1, 1}, {1, 1}},
    {2, 3, 4, {9, 8}, {2, 3}, {2, 1}, {0, 2}}, {3, 2, 2, {8, 8}, {2, 2}, {2, 2}, {0, 0}},
    {1, 2, 5, {7, 7}, {5, 5}, {3, 2}, {4, 1}}, {2, 1, 1, {10, 5}, {1, 1}, {3, 3}, {0, 0}},
    {2, 2, 3, {6, 6}, {3, 3}, {2, 2}, {1, 1}},
};

}  // namespace

OperatorCases image_cases(DataType real) {
    OperatorCases cases;
    const auto add = [&](const std::string& type, const Images& images) -> OperatorCase& {
        auto& added = cases.emplace_back(type, real);
        added.tolerance_factor = 4;
        return added.set("stride", images.stride).set("padding", images.padding).set("window", images.window);
    };
    for (const auto& images : all_images) {
        const Shape x{images.batch, images.in_channels, images.size[0], images.size[1]};
        const Shape filter{images.out_channels, images.in_channels, images.window[0], images.window[1]};
        const Shape out{images.batch, images.out_channels, images.result(0), images.result(1)};
        const Shape pooled{images.batch, images.in_channels, images.result(0), images.result(1)};
        for (const auto products : {ComputeType::float32, ComputeType::bfloat16, ComputeType::float16}) {
            if (products == ComputeType::bfloat16 && !has_bfloat16_products()) continue;
            add("conv2d", images)
                .in("x", x)
                .in("filter", filter)
                .in("bias", {images.out_channels})
                .out("out", out)
                .products = products;
            add("conv2d_grad_input", images)
                .in("filter", filter)
                .in("out@grad", out)
                .out("x@grad", x)
                .products = products;
            add("conv2d_grad_filter", images)
                .in("x", x)
                .in("out@grad", out)
                .out("filter@grad", filter)
                .out("bias@grad", {images.out_channels})
                .products = products;
        }
        for (const std::string type : {"max_pool2d", "average_pool2d"}) {
            add(type, images).in("x", x).out("out", pooled);
            add(type + "_grad", images).in("x", x).in("out@grad", pooled).out("x@grad", x);
        }
        // Many elements are the largest.
        add("max_pool2d_grad", images)
            .exactly("x", real, x, std::vector<double>(static_cast<std::size_t>(element_count(x)), 0.0))
            .in("out@grad", pooled)
            .out("x@grad", x);
    }
    return cases;
}

}  // namespace dtrain::tests
