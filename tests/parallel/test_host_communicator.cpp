// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the message, written out, on a stand-in for NCCL, whose memory a copy would crash on were it a
// GPU's. Runs at 1, 2 and 4 ranks.
#include <gtest/gtest.h>

#include <dtrain/comm_error.hpp>
#include <dtrain/data_parallel.hpp>

#include "comm/nccl/nccl_world.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

TEST(HostCommunicator, GradientsOnTheHostAreNotAveragedInMemoryOfAGpu) {
    std::vector<float> values(3, 1);
    std::vector<float> gradient(3, 2);
    const std::vector<ParameterBuffers> parameters{{"w", values, gradient}};
    const auto gpu = "NCCL 2.28.9 on GPU " + std::to_string(test_world().node_rank());
    try {
        const GradientAveraging averaging(nccl_world(), parameters);
        FAIL() << "it was made";
    } catch (const GpuCommunicatorError& error) {
        EXPECT_EQ(std::string(error.what()),
                  "GradientAveraging takes a communicator for memory of the host, and was given one for "
                  "memory of a GPU (" +
                      gpu +
                      "): values and gradients are there; give it the one over MPI that nccl_communicator() "
                      "was made of");
        EXPECT_EQ(error.gpu(), gpu);
    }
}

TEST(HostCommunicator, OneOverMpiIsTaken) {
    std::vector<float> values(3, 1);
    std::vector<float> gradient(3, 2);
    GradientAveraging averaging(test_world(), {{"w", values, gradient}}, {.bucket_bytes = 4});
    averaging.ready(0);
    averaging.finish();
    EXPECT_EQ(gradient, std::vector<float>(3, 2));
}

}  // namespace
}  // namespace dtrain
