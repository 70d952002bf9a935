// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: NVIDIA's table of CUDA compatibility (a driver runs each CUDA of its major version and of older
// ones; CUDA 13 from driver 580 on, 12 from 525) and NCCL's numbers of versions, written out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/gpu_software.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

GpuSoftware that_fits() {
    return {.driver = "580.65.06",
            .cuda_driver = "13.0",
            .cuda_runtime = "13.0",
            .nccl = "2.28.9",
            .nccl_built = "2.28.9",
            .nccl_needed = "2.27.3",
            .nccl_cuda = "13.0"};
}

std::vector<std::string> texts_of(const GpuSoftware& software) {
    std::vector<std::string> texts;
    for (const auto& issue : issues_of(software))
        texts.push_back((issue.is_fault ? "fault: " : "") + issue.text);
    return texts;
}

TEST(GpuSoftware, FitsOrIsNotThere) {
    EXPECT_THAT(issues_of({}), IsEmpty());
    EXPECT_THAT(issues_of(that_fits()), IsEmpty());
    auto without_driver = that_fits();
    without_driver.cuda_driver = without_driver.driver = "";
    EXPECT_THAT(issues_of(without_driver), IsEmpty());
}

TEST(GpuSoftware, AnyDriverOfTheMajorVersionIsEnough) {
    auto software = that_fits();
    software.cuda_runtime = software.nccl_cuda = "13.2";
    EXPECT_THAT(issues_of(software), IsEmpty());
    software.cuda_driver = "14.0";
    EXPECT_THAT(issues_of(software), IsEmpty());
}

TEST(GpuSoftware, ADriverOfAnOlderMajorVersionIsAFault) {
    auto software = that_fits();
    software.driver = "550.54.15";
    software.cuda_driver = "12.4";
    EXPECT_THAT(issues_of(software),
                ElementsAre(SoftwareIssue{
                    true, "its GPU driver 550.54.15 supports CUDA 12.4, but dtrain was built with 13.0",
                    "install driver 580 or newer there, or build dtrain with a CUDA Toolkit 12"}));
    software.driver = "";
    software.cuda_driver = "11.8";
    software.cuda_runtime = software.nccl_cuda = "12.1";
    EXPECT_THAT(issues_of(software),
                ElementsAre(SoftwareIssue{
                    true, "its GPU driver supports CUDA 11.8, but dtrain was built with 12.1",
                    "install driver 525 or newer there, or build dtrain with a CUDA Toolkit 11"}));
}

TEST(GpuSoftware, NcclOfAnotherCuda) {
    auto software = that_fits();
    software.nccl_cuda = "12.4";
    EXPECT_THAT(issues_of(software),
                ElementsAre(SoftwareIssue{
                    false, "NCCL 2.28.9 was compiled for CUDA 12.4, but dtrain was built with 13.0",
                    "install NCCL for CUDA 13"}));
    software = that_fits();
    software.cuda_runtime = software.cuda_driver = "12.4";
    EXPECT_THAT(
        texts_of(software),
        ElementsAre(
            "fault: its GPU driver 580.65.06 supports CUDA 12.4, but NCCL 2.28.9 was compiled for 13.0",
            "NCCL 2.28.9 was compiled for CUDA 13.0, but dtrain was built with 12.4"));
    EXPECT_EQ(issues_of(software)[0].remedy, "install driver 580 or newer there, or NCCL 2.28.9 for CUDA 12");
}

TEST(GpuSoftware, NcclThatLacksWhatDtrainCalls) {
    auto software = that_fits();
    software.nccl = "2.27.3";
    EXPECT_THAT(issues_of(software), IsEmpty()) << "older than the one at building time, but old enough";
    software.nccl = "2.9.9";
    EXPECT_THAT(
        issues_of(software),
        ElementsAre(SoftwareIssue{
            true, "NCCL 2.9.9 is loaded, but dtrain was built with 2.28.9 and calls what came with 2.27.3",
            "put a libnccl.so.2 of 2.27.3 or newer first in LD_LIBRARY_PATH, or build dtrain with NCCL "
            "2.9.9"}));
}

TEST(GpuSoftware, InsufficientDriversAreNoneOrOld) {
    EXPECT_EQ(insufficient_driver_text(0, 13000), "it has no driver of NVIDIA's (libcuda.so.1)");
    EXPECT_EQ(insufficient_driver_text(12040, 13000),
              "its GPU driver supports CUDA 12.4, but dtrain was built with 13.0; install driver 580 or "
              "newer there, or "
              "build dtrain with a CUDA Toolkit 12");
    EXPECT_EQ(insufficient_driver_text(13000, 13010),
              "its GPU driver, of CUDA 13.0, is insufficient for CUDA 13.1");
}

TEST(GpuSoftware, VersionsFromTheirNumbers) {
    EXPECT_EQ(cuda_version_text(13000), "13.0");
    EXPECT_EQ(cuda_version_text(11030), "11.3");
    EXPECT_EQ(cuda_version_text(0), "");
    EXPECT_EQ(nccl_version_text(22809), "2.28.9");
    EXPECT_EQ(nccl_version_text(20908), "2.9.8");
    EXPECT_EQ(nccl_version_text(2804), "2.8.4");
}

}  // namespace
}  // namespace dtrain
