// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the layout of NVIDIA's /proc/driver/nvidia (driver README, "The NVIDIA /proc/driver/nvidia
// Interface") made in a temporary folder, and a library with NVML's functions and fixed answers.
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "topology/gpu_names.hpp"
#include "topology/nvml.hpp"

namespace dtrain::topology {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* no_library = "libdtrain-test-no-such-library.so.1";

class DriverFolder : public ::testing::Test {
  protected:
    DriverFolder() { fs::permissions(root_, fs::perms{0755}); }

    void write(const fs::path& below_root, const std::string& text) const {
        fs::create_directories((root_ / below_root).parent_path());
        std::ofstream(root_ / below_root) << text;
    }
    void add_information(const std::string& address, int minor, const std::string& uuid,
                         const std::string& excluded = "No") const {
        write("proc/driver/nvidia/gpus/" + address + "/information",
              "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 57\nGPU UUID: \t " + uuid +
                  "\nVideo BIOS: \t 96.00.89.00.01\nBus Type: \t PCIe\nBus Location: \t " + address +
                  "\nDevice Minor: \t " + std::to_string(minor) + "\nGPU Excluded:\t " + excluded + "\n");
    }
    void add_device_file(int minor) const { write("dev/nvidia" + std::to_string(minor), ""); }

    std::vector<Gpu> named(const std::vector<Gpu>& gpus, const std::string& library = no_library) const {
        return named_by_driver(gpus, root_, library);
    }

    const tests::TemporaryFolder folder_;
    const fs::path root_ = folder_.path();
};

std::vector<Gpu> three_gpus() {
    std::vector<Gpu> gpus(3);
    const std::uint8_t buses[] = {0x4e, 0x5f, 0x9a};
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        gpus[i].index = static_cast<int>(i);
        gpus[i].pci.bus = buses[i];
    }
    return gpus;
}

std::vector<std::string> uuids(const std::vector<Gpu>& gpus) {
    std::vector<std::string> out;
    for (const auto& gpu : gpus) out.push_back(gpu.uuid);
    return out;
}

TEST_F(DriverFolder, WithoutDriverNothingChanges) {
    EXPECT_EQ(named(three_gpus()), three_gpus());
}

TEST_F(DriverFolder, ProcNamesThem) {
    add_information("0000:4e:00.0", 1, "GPU-aa");
    add_information("0000:5f:00.0", 0, "GPU-bb");
    add_information("0000:9a:00.0", 2, "GPU-cc");
    const auto gpus = named(three_gpus());
    EXPECT_THAT(uuids(gpus), ElementsAre("GPU-aa", "GPU-bb", "GPU-cc"));
    EXPECT_EQ(gpus[1].model, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(gpus[1].index, 1);
}

TEST_F(DriverFolder, AContainerShowsOnlyItsGpus) {
    add_information("0000:5f:00.0", 1, "GPU-bb");
    const auto gpus = named(three_gpus());
    ASSERT_THAT(uuids(gpus), ElementsAre("GPU-bb"));
    EXPECT_EQ(gpus[0].index, 0);
}

TEST_F(DriverFolder, OnlyGpusWithDeviceFilesWhenThereIsAny) {
    add_information("0000:4e:00.0", 0, "GPU-aa");
    add_information("0000:5f:00.0", 1, "GPU-bb");
    add_information("0000:9a:00.0", 2, "GPU-cc");
    add_device_file(0);
    add_device_file(2);
    EXPECT_THAT(uuids(named(three_gpus())), ElementsAre("GPU-aa", "GPU-cc"));
}

TEST_F(DriverFolder, DeviceFilesThatMayNotBeUsedHideTheGpu) {
    add_information("0000:4e:00.0", 0, "GPU-aa");
    add_information("0000:5f:00.0", 1, "GPU-bb");
    add_device_file(0);
    add_device_file(1);
    fs::permissions(root_ / "dev/nvidia0", fs::perms::none);
    fs::permissions(root_ / "dev/nvidia1", fs::perms::all);
    // Root may use any file: ask as somebody else.
    const pid_t child = ::fork();
    if (child == 0) {
        if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(3);
        const auto gpus = named(three_gpus());
        ::_exit(gpus.size() == 1 && gpus[0].uuid == "GPU-bb" ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(DriverFolder, ExcludedGpusAreLeftOut) {
    add_information("0000:4e:00.0", 0, "GPU-aa", "Yes");
    add_information("0000:5f:00.0", 1, "GPU-bb");
    EXPECT_THAT(uuids(named(three_gpus())), ElementsAre("GPU-bb"));
}

TEST_F(DriverFolder, NvmlIsAskedForAUuidThatProcDoesNotKnowYet) {
    add_information("0000:4e:00.0", 0, "GPU-aa");
    add_information("0000:5f:00.0", 1, "GPU-" + std::string(36, '?'));
    const auto without = named(three_gpus());
    EXPECT_THAT(uuids(without), ElementsAre("GPU-aa", ""));
    EXPECT_THAT(uuids(named(three_gpus(), FAKE_NVML)), ElementsAre("GPU-nvml-4e", "GPU-nvml-5f"));
}

TEST_F(DriverFolder, NvmlIsAskedWhenThereIsNoProc) {
    auto given = three_gpus();
    given.push_back(given.back());
    given.back().pci.bus = 0xf0;  // one that the library does not show
    const auto gpus = named(given, FAKE_NVML);
    EXPECT_THAT(uuids(gpus), ElementsAre("GPU-nvml-4e", "GPU-nvml-5f", "GPU-nvml-9a"));
    EXPECT_THAT(gpus[0].mig_uuids, ElementsAre("MIG-nvml-a", "MIG-nvml-b"));
    EXPECT_THAT(gpus[1].mig_uuids, IsEmpty());
}

TEST_F(DriverFolder, NvmlIsAskedForMigPartitionsOnly) {
    for (const auto& [address, minor] : {std::pair("0000:4e:00.0", 0), std::pair("0000:5f:00.0", 1)})
        add_information(address, minor, "GPU-proc-" + std::to_string(minor));
    EXPECT_THAT(uuids(named(three_gpus(), FAKE_NVML)), ElementsAre("GPU-proc-0", "GPU-proc-1"));
    write("proc/driver/nvidia/capabilities/gpu0/mig/gi1/access", "");
    EXPECT_THAT(named(three_gpus(), FAKE_NVML).at(0).mig_uuids, ElementsAre("MIG-nvml-a", "MIG-nvml-b"));
}

TEST(Nvml, IsNotRequired) {
    EXPECT_FALSE(ask_nvml(no_library));
    EXPECT_EQ(ask_nvml_driver(no_library), NvmlDriver{});
}

TEST(Nvml, ALibraryWithoutItsFunctionsIsNoNvml) {
    EXPECT_FALSE(ask_nvml("libm.so.6"));
    EXPECT_EQ(ask_nvml_driver("libm.so.6"), NvmlDriver{});
    EXPECT_EQ(ask_nvml_driver(FAKE_NVML), (NvmlDriver{"580.65.06", "13.0"}));
}

}  // namespace
}  // namespace dtrain::topology
