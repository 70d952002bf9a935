// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the CPU's kernels one after the other, as test_gpu_kernels.cpp compares. What is inner keeps what
// was in its memory before.
#include <cmath>
#include <random>

#include <gmock/gmock.h>

#include "gpu/a_gpu.hpp"

namespace dtrain {
namespace {

using kernels::ChainLink;
using kernels::KernelArguments;

template <class Real>
using Values = std::vector<std::vector<Real>>;

/// An operator of a chain: tensors are numbers of `size` elements, except counters.
struct Link {
    struct Slot {
        std::string name;
        std::size_t tensor;
    };
    std::string type;
    std::vector<Slot> inputs;
    std::size_t output;
    Attributes attributes = {};
};

class GpuChains : public tests::OnAGpu {
  protected:
    static constexpr std::int64_t size = 1000;
    static constexpr float untouched = 77;

    /// @param inputs the first tensors
    void expect_as_on_cpu(const std::vector<Link>& links, std::size_t inputs, std::size_t tensors,
                          const std::set<std::size_t>& inner) {
        expect_of_type<float>(links, inputs, tensors, inner, 3e-6);
        expect_of_type<double>(links, inputs, tensors, inner, 1e-13);
    }

  private:
    template <class Real>
    void expect_of_type(const std::vector<Link>& links, std::size_t inputs, std::size_t tensors,
                        const std::set<std::size_t>& inner, double tolerance) {
        auto values = random_values<Real>(inputs, tensors);
        std::vector<kernels::Gpu::Memory> memory;
        for (auto& tensor : values) {
            memory.push_back(gpu->allocate(size * sizeof(Real)));
            gpu->to_gpu(memory.back().get(), tensor.data(), size * sizeof(Real));
        }
        const auto step = gpu->allocate(sizeof(std::int64_t));
        std::int64_t step_number = 12345;
        gpu->to_gpu(step.get(), &step_number, sizeof(step_number));
        gpu->finish();

        const auto arguments_of = [&](const Link& link, const auto& address_of, void* counter) {
            const auto view = [&](std::size_t tensor) {
                return TensorView{address_of(tensor), {10, size / 10}, data_type_of<Real>};
            };
            KernelArguments arguments{{}, {{"out", view(link.output)}}, link.attributes};
            for (const auto& [name, tensor] : link.inputs) arguments.inputs.push_back({name, view(tensor)});
            arguments.inputs.push_back({"step", {counter, {1}, DataType::int64}});
            // Gradients' slots have other names.
            for (const std::string name : {"x@grad", "y@grad", "logits@grad"})
                arguments.outputs.push_back({name, view(link.output)});
            return arguments;
        };
        std::vector<ChainLink> chain;
        std::set<const void*> inner_memory;
        for (const auto tensor : inner) inner_memory.insert(memory[tensor].get());
        for (const auto& link : links) {
            chain.push_back(
                {link.type, arguments_of(
                                link, [&](std::size_t tensor) { return memory[tensor].get(); }, step.get())});
            kernels::make_cpu_kernel(
                link.type, arguments_of(
                               link, [&](std::size_t tensor) { return values[tensor].data(); }, &step_number))
                ->run();
        }
        const auto kernel = gpu->make_chain_kernel(chain, inner_memory);
        kernel->run();
        gpu->finish();
        for (std::size_t tensor = 0; tensor < tensors; ++tensor) {
            std::vector<Real> made(size);
            gpu->to_host(made.data(), memory[tensor].get(), size * sizeof(Real));
            gpu->finish();
            if (inner.contains(tensor)) {
                EXPECT_THAT(made, testing::Each(untouched)) << "inner tensor " << tensor;
                continue;
            }
            for (std::size_t i = 0; i < size; ++i)
                ASSERT_NEAR(made[i], values[tensor][i], tolerance * (1 + std::fabs(values[tensor][i])))
                    << "tensor " << tensor << ", element " << i;
        }
    }

    template <class Real>
    static Values<Real> random_values(std::size_t inputs, std::size_t tensors) {
        std::mt19937 random(3);
        std::uniform_real_distribution<double> uniform(0.1, 0.9);
        Values<Real> values(tensors, std::vector<Real>(size, Real(untouched)));
        for (std::size_t tensor = 0; tensor < inputs; ++tensor)
            for (auto& value : values[tensor]) value = static_cast<Real>(uniform(random));
        return values;
    }
};

const Attributes scale{{"scale", -1.5}, {"bias", 0.7}};
const Attributes dropout{{"probability", 0.3},
                         {"seed", std::int64_t{5}},
                         {"stream", std::int64_t{2}},
                         {"is_test", std::int64_t{0}}};

TEST_F(GpuChains, OfEveryOperator) {
    expect_as_on_cpu({{"relu", {{"x", 0}}, 3},
                      {"sigmoid", {{"x", 3}}, 4},
                      {"tanh", {{"x", 4}}, 5},
                      {"square", {{"x", 5}}, 6},
                      {"sqrt", {{"x", 6}}, 7},
                      {"scale", {{"x", 7}}, 8, scale},
                      {"multiply", {{"x", 8}, {"y", 1}}, 9},
                      {"subtract", {{"x", 9}, {"y", 2}}, 10},
                      {"divide", {{"x", 10}, {"y", 2}}, 11},
                      {"sum", {{"x", 11}, {"x", 0}, {"x", 1}, {"x", 11}}, 12},
                      {"dropout", {{"x", 12}}, 13, dropout},
                      {"bce_with_logits", {{"logits", 13}, {"label", 1}}, 14}},
                     3, 15, {3, 5, 6, 8, 9, 12, 13});
    expect_as_on_cpu({{"fill_like", {{"x", 0}}, 3, {{"value", 0.3}}},
                      {"relu_grad", {{"out", 0}, {"out@grad", 3}}, 4},
                      {"sigmoid_grad", {{"out", 0}, {"out@grad", 4}}, 5},
                      {"tanh_grad", {{"out", 1}, {"out@grad", 5}}, 6},
                      {"sqrt_grad", {{"out", 2}, {"out@grad", 6}}, 7},
                      {"square_grad", {{"x", 2}, {"out@grad", 7}}, 8},
                      {"divide_grad_y", {{"y", 0}, {"out", 1}, {"out@grad", 8}}, 9},
                      {"bce_with_logits_grad", {{"logits", 0}, {"label", 1}, {"out@grad", 9}}, 10},
                      {"sum", {{"x", 10}}, 11}},
                     3, 12, {3, 4, 5, 6, 7, 8, 10});
}

TEST_F(GpuChains, OfOneOperator) {
    expect_as_on_cpu({{"tanh", {{"x", 0}}, 1}}, 1, 2, {});
}

TEST_F(GpuChains, DropoutOfATest) {
    auto of_test = dropout;
    of_test["is_test"] = std::int64_t{1};
    expect_as_on_cpu({{"relu", {{"x", 0}}, 1}, {"dropout", {{"x", 1}}, 2, of_test}}, 1, 3, {1});
}

TEST_F(GpuChains, TwoDropouts) {
    auto other = dropout;
    other["stream"] = std::int64_t{3};
    expect_as_on_cpu({{"dropout", {{"x", 0}}, 1, dropout}, {"dropout", {{"x", 1}}, 2, other}}, 1, 3, {1});
}

// They are computed one by one.
TEST_F(GpuChains, LongerThanAKernelTakes) {
    std::vector<Link> links;
    std::set<std::size_t> inner;
    for (std::size_t number = 0; number < 30; ++number) {
        links.push_back({"scale", {{"x", number}}, number + 1, scale});
        if (number > 0) inner.insert(number);
    }
    expect_as_on_cpu(links, 1, 31, inner);
}

TEST_F(GpuChains, OfMoreTensorsThanAKernelReads) {
    Link sum{"sum", {}, 15};
    for (std::size_t term = 0; term < 14; ++term) sum.inputs.push_back({"x", term});
    expect_as_on_cpu({sum, {"scale", {{"x", 15}}, 14, scale}}, 14, 16, {15});
}

TEST_F(GpuChains, AnOperatorThatIsNotElementWiseIsNamed) {
    float number = 0;
    const TensorView tensor{&number, {1}};
    try {
        gpu->make_chain_kernel({{"softmax", {{{"x", tensor}}, {{"out", tensor}}, {}}}}, {});
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "the operator 'softmax' is none that the GPU has in chains");
    }
}

}  // namespace
}  // namespace dtrain
