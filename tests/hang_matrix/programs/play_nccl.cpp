// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// play.hpp on dtrain's communicator over NCCL, which is a stand-in (../../comm/nccl/nccl_stand_in.hpp).
#include <array>
#include <optional>
#include <span>
#include <string>

#include <dtrain/dtrain.hpp>
#include <dtrain/nccl.hpp>

#include "comm/nccl/nccl_stand_in.hpp"
#include "comm/nccl/nccl_world.hpp"
#include "play.hpp"

namespace {

using dtrain::Communicator;
using dtrain::GpuVector;
using play::length;

constexpr std::size_t many = 1 << 20;  // more than is under way without a receiver

Communicator nccl_of(const Communicator& world) {
    if (play::kind == "makes_no_communicator" && world.rank() == 2) {
        blocked::begin();
        blocked::sleeps();
    }
    return dtrain::nccl_communicator(world);
}

class Ranks {
  public:
    explicit Ranks(const Communicator& world) : world_(nccl_of(world)) {
        constexpr std::array last{1, 2};
        if (world.rank() == 0) return;
        pair_ = world_.subset(last);
        twin_ = world_.subset(last, 1);
    }

    void sum() { world_.allreduce(some_.span()); }
    void sum_of_fewer() { world_.allreduce(some_.span().first(length / 2)); }
    void sum_of_doubles() { world_.allreduce(doubles_.span()); }
    void broadcast(int root) { world_.broadcast(some_.span(), root); }
    void all_gather() { world_.all_gather(std::span<const float>(some_.span()), all_.span()); }
    void reduce() { world_.reduce_scatter(std::span<const float>(all_.span()), some_.span()); }
    void barrier() { world_.barrier(); }
    void barrier_of(const std::string& group) { (group == "pair" ? pair_ : twin_)->barrier(); }
    void make_group() { world_.split(0, 0); }
    void receive(int from) { world_.receive(some_.span(), from); }
    void receive_from_any() {
        int from = 0;
        world_.start_receive_any(some_.span(), from).wait();
    }
    void send(int to) { world_.send(std::span<const float>(many_.span()), to); }
    void wait_for_request() { world_.start_receive(some_.span(), 0).wait(); }

    play::Ways alone() {
        return {{"gpu_computes", [] { nccl_stand_in::put(nullptr, [] { return false; }); }}};
    }
    play::Ways others() { return {}; }

  private:
    Communicator world_;
    std::optional<Communicator> pair_, twin_;
    GpuVector<float> some_{length}, all_{3 * length}, many_{many};
    GpuVector<double> doubles_{length};
};

}  // namespace

int main(int argc, char** argv) {
    play::kind = argc > 1 ? argv[1] : "";
    return dtrain::run_main(argv[0], [] {
        play::before_start();
        const dtrain::MpiSession session;
        play::rank = session.world().rank();
        nccl_stand_in::connect();
        cudaSetDevice(session.world().node_rank());
        Ranks ranks(session.world());
        play::play(ranks);
        return 0;
    });
}
