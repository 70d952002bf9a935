// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the CPU kernels' errors, and the memory as it was before.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "gpu/a_gpu.hpp"
#include "gpu/operator_case.hpp"

namespace dtrain {
namespace {

using kernels::KernelArguments;
using tests::OperatorCase;

class GpuDeviceError : public tests::OnAGpu {
  protected:
    template <class Value>
    TensorView tensor(std::vector<Value> values) {
        const Shape shape{static_cast<std::int64_t>(values.size())};
        memory_.push_back(gpu->allocate(values.size() * sizeof(Value)));
        gpu->to_gpu(memory_.back().get(), values.data(), values.size() * sizeof(Value));
        gpu->finish();
        return {memory_.back().get(), shape, data_type_of<Value>};
    }

    template <class Value>
    std::vector<Value> read(const TensorView& tensor) {
        std::vector<Value> values(tensor.size());
        gpu->to_host(values.data(), tensor.data, tensor.bytes());
        gpu->finish();
        return values;
    }

    /// The arguments of a case on the GPU.
    KernelArguments arguments_of(const OperatorCase& of) {
        KernelArguments arguments;
        arguments.attributes = of.attributes;
        const auto uploaded = [&](const tests::CaseTensor& described) {
            auto made =
                described.type == DataType::float32
                    ? tensor(std::vector<float>(described.values.begin(), described.values.end()))
                : described.type == DataType::float64
                    ? tensor(described.values)
                    : tensor(std::vector<std::int64_t>(described.values.begin(), described.values.end()));
            made.shape = described.shape;
            return made;
        };
        for (const auto& input : of.inputs) arguments.inputs.push_back({input.slot, uploaded(input)});
        for (auto output : of.outputs) {
            output.values.assign(output.size(), 0.0);
            arguments.outputs.push_back({output.slot, uploaded(output)});
        }
        for (const auto number : of.updated_inputs) arguments.outputs.push_back(arguments.inputs[number]);
        return arguments;
    }

    std::string error_of_finish() {
        try {
            gpu->finish();
        } catch (const Error& error) {
            return error.what();
        }
        return "nothing";
    }

    void expect_the_error_of_the_cpu(const OperatorCase& bad) {
        const auto expected = tests::error_on_cpu(bad);
        ASSERT_NE(expected, "nothing");
        const auto kernel = gpu->make_kernel(bad.type, arguments_of(bad));
        kernel->run();
        EXPECT_EQ(error_of_finish(), expected);
        EXPECT_EQ(error_of_finish(), "nothing") << "it is told once";
    }

  private:
    std::vector<kernels::Gpu::Memory> memory_;
};

OperatorCase with_label(const std::string& type, double label, std::int64_t classes) {
    OperatorCase bad(type);
    bad.in(type == "cross_entropy" ? "probabilities" : "logits", {3, classes}, 0.1, 1)
        .exactly("label", DataType::int64, {3}, {0, 1, label})
        .out("row_loss", {3});
    if (type != "cross_entropy") bad.out("probabilities", {3, classes});
    return bad;
}

OperatorCase with_id(double id) {
    OperatorCase bad("embedding");
    return bad.exactly("ids", DataType::int64, {4}, {0, 1, id, 2})
        .in("weight", {9, 5})
        .out("out", {4, 5})
        .set("padding", std::int64_t{-1});
}

OperatorCase with_score(double score) {
    OperatorCase bad("auc", DataType::float64);
    return bad.exactly("scores", DataType::float64, {3}, {0.5, score, 1})
        .exactly("label", DataType::int64, {3}, {0, 1, 1})
        .exactly("positives", DataType::float64, {4}, {1, 2, 3, 4})
        .updated()
        .exactly("negatives", DataType::float64, {4}, {5, 6, 7, 8})
        .updated()
        .out("out", DataType::float32, {1});
}

TEST_F(GpuDeviceError, LabelsOutsideOfTheClasses) {
    for (const auto* type : {"softmax_with_cross_entropy", "cross_entropy"})
        for (const std::int64_t classes : {10, 100})
            for (const double label : {-1.0, static_cast<double>(classes), 1e15})
                expect_the_error_of_the_cpu(with_label(type, label, classes));
}

TEST_F(GpuDeviceError, IdsOutsideOfTheTable) {
    for (const double id : {-2.0, 9.0, 1e15}) expect_the_error_of_the_cpu(with_id(id));
}

TEST_F(GpuDeviceError, ScoresThatAreNoProbabilities) {
    for (const double score : {-0.5, 1.5, 100000.0, 1e20, std::numeric_limits<double>::quiet_NaN()})
        expect_the_error_of_the_cpu(with_score(score));
}

TEST_F(GpuDeviceError, TheCurveOfABadBatchAddsNothing) {
    const auto arguments = arguments_of(with_score(2));
    const auto kernel = gpu->make_kernel("auc", arguments);
    kernel->run();
    EXPECT_THAT(error_of_finish(), testing::HasSubstr("row 1"));
    EXPECT_THAT(read<double>(arguments.input("positives")), testing::ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(read<double>(arguments.input("negatives")), testing::ElementsAre(5, 6, 7, 8));
}

// A step whose labels are bad, then the same with good ones.
TEST_F(GpuDeviceError, AStepWithBadDataUpdatesNothing) {
    const auto loss_arguments = arguments_of(with_label("softmax_with_cross_entropy", 12, 10));
    const auto step = tensor(std::vector<std::int64_t>{5});
    const auto gradient = tensor(std::vector<float>{1, 2, 3});
    const Attributes attributes{{"learning_rate", 0.5},
                                {"mu", 0.9},
                                {"nesterov", std::int64_t{0}},
                                {"beta1", 0.9},
                                {"beta2", 0.999},
                                {"weight_decay", 0.1},
                                {"epsilon", 1e-3},
                                {"beta", 1.0},
                                {"l1", 0.1},
                                {"l2", 0.1}};
    const std::vector<float> before{1, -1, 2};
    std::vector<std::unique_ptr<kernels::Kernel>> kernels;
    std::vector<TensorView> states;
    kernels.push_back(gpu->make_kernel("softmax_with_cross_entropy", loss_arguments));
    const auto add = [&](const std::string& type, const std::vector<std::string>& slots) {
        KernelArguments arguments{{{"gradient", gradient}, {"step", step}}, {}, attributes};
        for (const auto& slot : slots) {
            states.push_back(tensor(before));
            arguments.inputs.push_back({slot, states.back()});
            arguments.outputs.push_back({slot, states.back()});
        }
        kernels.push_back(gpu->make_kernel(type, arguments));
    };
    add("sgd", {"parameter"});
    add("momentum", {"parameter", "velocity"});
    add("adagrad", {"parameter", "squares"});
    add("adam", {"parameter", "moment1", "moment2"});
    add("adamw", {"parameter", "moment1", "moment2"});
    add("ftrl", {"parameter", "linear", "squares"});
    kernels.push_back(gpu->make_kernel("increment", {{{"step", step}}, {{"step", step}}, {}}));
    const auto captured = gpu->captured([&] {
        for (const auto& kernel : kernels) kernel->run();
    });

    captured->run();
    EXPECT_EQ(error_of_finish(), "label 12 in row 2 of the batch is outside of the 10 classes 0..9");
    EXPECT_THAT(read<std::int64_t>(step), testing::ElementsAre(5));
    for (const auto& state : states) EXPECT_EQ(read<float>(state), before);

    const std::vector<std::int64_t> good{0, 1, 2};
    gpu->to_gpu(loss_arguments.input("label").data, good.data(), good.size() * sizeof(good[0]));
    captured->run();
    EXPECT_EQ(error_of_finish(), "nothing");
    EXPECT_THAT(read<std::int64_t>(step), testing::ElementsAre(6));
    for (const auto& state : states) EXPECT_NE(read<float>(state), before);
}

}  // namespace
}  // namespace dtrain
