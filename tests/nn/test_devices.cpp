// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the rules of nn_device.hpp; and training that went on with the same device, within what 20 steps of
// Adam make of sums in another order. In device_scenarios.cpp, for a process has one device.
#include <chrono>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::nn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Devices : public testing::Test {
  protected:
    void SetUp() override {
        for (const auto* name : {"DTRAIN_TEST_EAGER_DEVICES", "DTRAIN_GPU_MODULE"})
            if (std::getenv(name) == nullptr) GTEST_SKIP() << name << " is not set";
    }

    /// What the scenario says. @param device DTRAIN_DEVICE
    static std::string output_of(const std::vector<std::string>& words, const std::string& device = "",
                                 const std::map<std::string, std::string>& more = {}) {
        auto environment = Environment::of_this_process();
        environment.set("DTRAIN_DEVICE", device);
        for (const auto& [name, value] : more) environment.set(name, value);
        ProcessOptions options{.environment = environment};
        options.argv = {std::getenv("DTRAIN_TEST_EAGER_DEVICES")};
        options.argv.insert(options.argv.end(), words.begin(), words.end());
        const auto captured = run_and_capture(options, std::chrono::seconds(60));
        EXPECT_TRUE(captured.status.success()) << captured.status.to_string() << captured.err;
        return captured.out;
    }
};

TEST_F(Devices, AreChosenByTheVariableOrByACall) {
    EXPECT_EQ(output_of({"device"}), "cpu\n");
    EXPECT_EQ(output_of({"device"}, "gpu"), "gpu:0\n");
    EXPECT_EQ(output_of({"set=gpu:0", "device"}), "gpu:0\n");
    EXPECT_EQ(output_of({"set=cpu", "device", "tensor", "device"}, "gpu"), "cpu\ncpu\n");
    EXPECT_EQ(output_of({"device", "set=gpu", "device"}), "cpu\ngpu:0\n");  // nothing was on it
    EXPECT_EQ(output_of({"network", "set=gpu", "set=gpu:0", "device"}, "gpu"), "gpu:0\n");  // the same one
}

TEST_F(Devices, StayWhenThereIsATensor) {
    EXPECT_EQ(output_of({"tensor", "set=gpu"}),
              "DeviceChosenError cpu gpu: set_device(): gpu is asked for, and tensors are on cpu already: "
              "choose the device before the first tensor or layer is made\n");
    EXPECT_THAT(output_of({"set=gpu", "network", "set=cpu"}), StartsWith("DeviceChosenError gpu:0 cpu: "));
    EXPECT_THAT(output_of({"network", "set=gpu:1"}, "gpu"), StartsWith("DeviceChosenError gpu:0 gpu:1: "));
}

TEST_F(Devices, ThatAreNotThereAreRefusedAsByExecutors) {
    EXPECT_EQ(output_of({"tensor"}, "cuda"),
              "UsageError: DTRAIN_DEVICE is 'cuda', expected cpu, gpu or gpu:NUMBER\n");
    EXPECT_THAT(output_of({"set=gpu"}, "", {{"DTRAIN_GPU_MODULE", "/nowhere.so"}}),
                AllOf(StartsWith("UsageError: dtrain cannot compute on GPUs here: /nowhere.so: "),
                      HasSubstr("compute on the device \"cpu\"")));
    EXPECT_THAT(output_of({"network"}, "gpu", {{"DTRAIN_GPU_MODULE", "/nowhere.so"}}),
                StartsWith("UsageError: dtrain cannot compute on GPUs here"));
    if (std::string(std::getenv("DTRAIN_GPU_MODULE")).find("stand_in") == std::string::npos) return;
    EXPECT_EQ(output_of({"tensor"}, "gpu:1"),
              "UsageError: there is no GPU 1: the stand-in for GPUs has one, number 0\n");
    EXPECT_EQ(output_of({"tensor"}, "gpu", {{"FLAGS_selected_gpus", "2,3"}}),
              "UsageError: there is no GPU 2: the stand-in for GPUs has one, number 0\n");
}

TEST_F(Devices, OfARankNeedItsNumber) {
    const std::map<std::string, std::string> launched{{"PMIX_RANK", "1"}};
    EXPECT_EQ(output_of({"tensor"}, "gpu", launched),
              "UsageError: which GPU is this rank's is not known before MPI is initialised: make the "
              "ParallelEnv before the first tensor or layer, or choose one by its number (gpu:0)\n");
    EXPECT_EQ(output_of({"set=gpu:0", "device"}, "gpu", launched), "gpu:0\n");
    EXPECT_EQ(output_of({"device"}, "gpu", {{"PMIX_RANK", "1"}, {"FLAGS_selected_gpus", "0"}}), "gpu:0\n");
    EXPECT_EQ(output_of({"device"}, "cpu", launched), "cpu\n");
}

std::vector<double> numbers(const std::string& text) {
    std::vector<double> all;
    std::istringstream words(text);
    for (std::string word; words >> word;)
        if (word != "loss") all.push_back(std::stod(word));
    return all;
}

TEST_F(Devices, GoOnWithWhatTheOtherSaved) {
    const tests::TemporaryFolder folder;
    const auto file = (folder.path() / "half.h5").string();
    for (const auto* const first : {"cpu", "gpu"}) {
        const auto* const other = std::string(first) == "cpu" ? "gpu" : "cpu";
        const auto straight =
            numbers(output_of({"network", "train=5", "save=" + file, "train=5", "print"}, first));
        const auto at_half = output_of({"network", "load=" + file, "print"}, first);
        EXPECT_EQ(output_of({"network", "load=" + file, "print"}, other), at_half);
        EXPECT_NE(output_of({"network", "print"}, other), at_half);
        const auto resumed =
            numbers(output_of({"network", "train=1", "load=" + file, "train=5", "print"}, other));
        ASSERT_EQ(resumed.size(), straight.size());
        EXPECT_NEAR(resumed[1], straight[1], 1e-4) << "loss";
        for (std::size_t i = 2; i < resumed.size(); ++i)
            ASSERT_NEAR(resumed[i], straight[i], 1e-3) << i << " from " << first;
    }
}

}  // namespace
}  // namespace dtrain::nn
