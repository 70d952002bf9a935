// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Steps per second of a chain of element-wise operators, on one thread.
//   element_chain cheap|tanh ELEMENTS together|apart
// cheap: memory-bound operators; tanh: compute-bound ones.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>

#include "steady_rate.hpp"

namespace {

using namespace dtrain;

Program chain(const std::string& kind, std::int64_t elements) {
    if (kind != "cheap" && kind != "tanh")
        throw std::invalid_argument("the operators are 'cheap' or 'tanh', not '" + kind + "'");
    Program program;
    const auto x = layers::data(program, "x", {1, elements});
    auto y = x;
    for (int repeat = 0; repeat < 2; ++repeat) {
        y = kind == "tanh" ? layers::tanh(program, y) : layers::relu(program, y);
        y = layers::sum(program, {layers::scale(program, y, 0.9, 0.1), x});
        if (kind == "tanh") y = layers::sigmoid(program, y);
    }
    return program;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        if (count != 4) throw std::invalid_argument("element_chain cheap|tanh ELEMENTS together|apart");
        const auto program = chain(arguments[1], std::stoll(arguments[2]));
        const bool together = std::string(arguments[3]) == "together";
        Executor executor(program, State(program, 1), {}, {.threads = 1, .fuse_chains = together});
        const auto x = executor.feed<float>("x");
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 101) * 0.04F - 2.0F;
        const auto rate =
            benchmarks::steady_rate([&] { executor.run(); }, [](double value) { return value; });
        std::printf("%.2f\n", rate);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "element_chain: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
