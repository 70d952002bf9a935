// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// nccl_allreduce --gpus: prints the number of visible GPUs. nccl_allreduce BYTES, under mpirun with one rank
// per GPU: microseconds of an in-place sum of float32 over NCCL, measured as by nccl-tests: 5 warm-up calls,
// then 20 calls without waiting in between. With status 77, stderr says why there is no GPU.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/nccl.hpp>

#include "comm/nccl/nccl_module.hpp"

namespace {

constexpr int no_gpu = 77;

double microseconds_of(const dtrain::Communicator& world, std::size_t bytes) {
    const auto gpus = dtrain::nccl_communicator(world);
    const auto memory = gpus.allocate(bytes);
    std::vector<dtrain::Request> started;
    const auto add_up = [&](int times) {
        for (int i = 0; i < times; ++i) started.push_back(gpus.start_allreduce(memory.as<float>()));
        for (auto& sum : started) sum.wait();
        started.clear();
    };
    constexpr int warm_up = 5;
    constexpr int times = 20;
    add_up(warm_up);
    world.barrier();
    const auto begin = std::chrono::steady_clock::now();
    add_up(times);
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
    return world.sum(spent.count() / times) / world.size();  // the mean over ranks, as in nccl-tests
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: nccl_allreduce --gpus | BYTES\n");
        return 2;
    }
    try {
        if (std::string_view(argv[1]) == "--gpus") {
            std::printf("%d\n", dtrain::comm::nccl_module().visible_gpus());
            return 0;
        }
        const dtrain::MpiSession session;
        const auto spent = microseconds_of(session.world(), std::strtoull(argv[1], nullptr, 10));
        if (session.world().rank() == 0) std::printf("%.3f\n", spent);
    } catch (const dtrain::NcclError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return no_gpu;
    }
}
