// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a machine made by hand and the whole text an operator should see for it; the version texts are
// those that the MPI libraries and mpirun programs of the named releases print.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/temporary_folder.hpp"
#include "worker/machine_report.hpp"

namespace dtrain::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using topology::Core;
using topology::Gpu;
using topology::Machine;

/// Two packages of two cores with two hardware threads; GPU 1 is near package 1, GPU 0 nowhere in particular.
Machine two_packages() {
    Machine machine;
    machine.hostname = "node017";
    machine.allowed = CpuSet::range(0, 7);
    for (int core = 0; core < 4; ++core)
        machine.cores.push_back(
            {.package = core / 2, .numa = core / 2, .cpus = CpuSet::range(2 * core, 2 * core + 1)});
    machine.numa_nodes = {
        {.os_index = 0, .cpus = CpuSet::range(0, 3), .memory_bytes = std::uint64_t{64} << 30},
        {.os_index = 1, .cpus = CpuSet::range(4, 7), .memory_bytes = std::uint64_t{3} << 29},
        {.os_index = 8, .cpus = {}, .memory_bytes = std::uint64_t{96} << 30}};
    Gpu far, near;
    far.index = 0;
    far.pci.bus = 0x18;
    far.has_locality = false;
    near.index = 1;
    near.pci.bus = 0x9a;
    near.model = "NVIDIA H200";
    near.uuid = "GPU-8932f937";
    near.mig_uuids = {"MIG-6c8e3c11"};
    near.local_cpus = CpuSet::range(4, 7);
    machine.gpus = {far, near};
    machine.adapters = {
        {.name = "mlx5_0", .pci = {.bus = 0x9b}, .rdma = true, .local_cpus = CpuSet::range(4, 7)},
        {.name = "eth0", .pci = {.bus = 0x05}, .rdma = false, .local_cpus = {}}};
    return machine;
}

MachineReport full_report() {
    MachineReport report;
    report.machine = two_packages();
    report.affinity = CpuSet::range(0, 3);
    report.mpi = {"Open MPI", "4.1.4", "/usr/bin/mpirun", "Open MPI 4.1.4"};
    report.scheduler = "Slurm";
    report.job_id = "4711";
    report.launcher = "Open MPI";
    report.visible = {"1,GPU-77", {{"1", 1}, {"GPU-77", std::nullopt}}, ""};
    report.nccl = {{"calls that do not wait", "registered memory"},
                   "",
                   {{"NCCL_DEBUG", "INFO"}, {"NCCL_SOCKET_IFNAME", "=ib0"}}};
    report.versions.dtrain = "0.1.0";
    report.versions.hwloc_built = report.versions.hwloc_running = "2.8.0";
    report.versions.hdf5 = "1.10.8";
    return report;
}

TEST(MachineReportText, WholeReport) {
    EXPECT_EQ(as_text(full_report()),
              R"(Machine      node017
Processors   2 packages, 4 cores, 8 hardware threads
             allowed on this machine: 0-7
             this process may run on: 0-3
Memory       node 0  64.0 GiB  2 cores, processors 0-3
             node 1  1.5 GiB   2 cores, processors 4-7
             node 8  96.0 GiB  no processor that is allowed here
GPUs         index  PCI address   model        near processors  memory node  adapter  UUID
             0      0000:18:00.0  not told     not told         -            mlx5_0   not told
             1      0000:9a:00.0  NVIDIA H200  4-7              1            mlx5_0   GPU-8932f937
                                  partition                                           MIG-6c8e3c11
             CUDA_VISIBLE_DEVICES=1,GPU-77: 0 is GPU 1, 1 is "GPU-77", unknown here
Adapters     name    PCI address   kind     near processors  memory node
             mlx5_0  0000:9b:00.0  RDMA     4-7              1
             eth0    0000:05:00.0  network  not told         -
MPI          Open MPI 4.1.4
             /usr/bin/mpirun is Open MPI 4.1.4
NCCL         in use: calls that do not wait, registered memory
             NCCL_DEBUG=INFO
             NCCL_SOCKET_IFNAME==ib0
Job          Slurm job 4711; started by Open MPI
Versions     dtrain        0.1.0
             hwloc         API 2.8.0
             HDF5          1.10.8
             oneDNN        not built in
             CUDA runtime  not built in
             CUDA driver   none found
             NCCL          not built in
)");
}

TEST(MachineReportText, NothingThere) {
    MachineReport report;
    report.machine.is_this_system = false;
    report.machine.allowed = CpuSet::range(0, 0);
    report.machine.cores = {Core{0, -1, CpuSet::range(0, 0)}};
    report.versions.hwloc_built = "2.8.0";
    report.versions.hwloc_running = "2.5.0";
    const auto text = as_text(report);
    EXPECT_THAT(text, HasSubstr("without a name, described by HWLOC_XMLFILE: not the one this runs on"));
    EXPECT_THAT(text, HasSubstr("1 package, 1 core, 1 hardware thread\n"));
    EXPECT_THAT(text, Not(HasSubstr("this process may run on")));
    EXPECT_THAT(text, HasSubstr("GPUs         none that this process may use\n"
                                "             CUDA_VISIBLE_DEVICES is not set: a program sees no GPU\n"
                                "Adapters     none on a PCI bus\n"
                                "MPI          library unknown\n"
                                "             mpirun is not in PATH: ranks can be started by srun only\n"
                                "NCCL         no variable of NCCL is set\n"
                                "Job          no scheduler; not started by a launcher\n"));
    EXPECT_THAT(text, HasSubstr("API 2.5.0, built for 2.8.0"));
}

TEST(MachineReportText, EmptyLocalSetAndUnusableVariable) {
    auto report = full_report();
    report.machine = restricted(report.machine, CpuSet::range(0, 1));
    report.visible = {"1,1", {}, "CUDA_VISIBLE_DEVICES=1,1: twice"};
    EXPECT_THAT(as_text(report), HasSubstr("none allowed"));
    EXPECT_THAT(as_text(report), HasSubstr("unusable: CUDA_VISIBLE_DEVICES=1,1: twice\n"));
}

TEST(MachineReportJson, HasEveryKey) {
    const auto json = nlohmann::json::parse(as_json(full_report()));
    EXPECT_EQ(json, nlohmann::json::parse(R"({
        "schema": 1, "hostname": "node017", "this_system": true,
        "packages": 2, "cores": 4, "hardware_threads": 8, "allowed_cpus": "0-7", "affinity_cpus": "0-3",
        "numa_nodes": [{"node": 0, "cpus": "0-3", "cores": 2, "memory_bytes": 68719476736},
                       {"node": 1, "cpus": "4-7", "cores": 2, "memory_bytes": 1610612736},
                       {"node": 8, "cpus": "", "cores": 0, "memory_bytes": 103079215104}],
        "gpus": [{"index": 0, "pci": "0000:18:00.0", "model": null, "uuid": null, "mig_uuids": [], "near_cpus": null,
                  "numa_nodes": [], "adapter": "mlx5_0", "health": null, "issues": []},
                 {"index": 1, "pci": "0000:9a:00.0", "model": "NVIDIA H200", "uuid": "GPU-8932f937",
                  "mig_uuids": ["MIG-6c8e3c11"], "near_cpus": "4-7", "numa_nodes": [1], "adapter": "mlx5_0",
                  "health": null, "issues": []}],
        "other_gpus": [],
        "adapters": [{"name": "mlx5_0", "pci": "0000:9b:00.0", "rdma": true, "near_cpus": "4-7", "numa_nodes": [1]},
                     {"name": "eth0", "pci": "0000:05:00.0", "rdma": false, "near_cpus": null, "numa_nodes": []}],
        "cuda_visible_devices": {"value": "1,GPU-77",
                                 "devices": [{"id": "1", "gpu": 1}, {"id": "GPU-77", "gpu": null}], "error": null},
        "nccl": {"uses": ["calls that do not wait", "registered memory"], "unavailable": null,
                 "settings": {"NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "=ib0"}},
        "mpi": {"flavour": "Open MPI", "version": "4.1.4", "mpirun": "/usr/bin/mpirun",
                "mpirun_version": "Open MPI 4.1.4"},
        "job": {"scheduler": "Slurm", "job_id": "4711", "launcher": "Open MPI"},
        "versions": {"dtrain": "0.1.0", "hwloc_built": "2.8.0", "hwloc_running": "2.8.0", "hdf5": "1.10.8",
                     "cuda_runtime": null, "cuda_driver": null, "gpu_driver": null, "nccl": null,
                     "nccl_built": null, "nccl_needed": null, "nccl_cuda": null, "onednn": null}})"));
}

MachineReport report_of_an_ill_gpu() {
    auto report = full_report();
    report.health = {{.pci = {.bus = 0x9a},
                      .uncorrected_errors = 2,
                      .slowdowns = {topology::GpuSlowdown::hot},
                      .processes = {{.pid = 7}},
                      .utilization = 97,
                      .memory_used = 1,
                      .memory_total = 2,
                      .watts = 651.5,
                      .celsius = 91}};
    return report;
}

TEST(MachineReportJson, HealthOfGpus) {
    const auto gpus = nlohmann::json::parse(as_json(report_of_an_ill_gpu()))["gpus"];
    EXPECT_EQ(gpus[0]["health"], nullptr);
    EXPECT_EQ(gpus[1]["health"], nlohmann::json::parse(R"({"uncorrected_errors": 2, "row_failed": false,
        "row_pending": false, "slowdowns": ["hot"], "processes": [{"pid": 7, "memory_bytes": null}],
        "xids": [],
        "utilization_percent": 97, "memory_used_bytes": 1, "memory_total_bytes": 2, "watts": 651.5, "celsius": 91})"));
    EXPECT_EQ(gpus[1]["issues"].size(), 3U);
    EXPECT_EQ(gpus[1]["issues"][1], nlohmann::json::parse(R"({"fault": false,
        "text": "slowed down by its heat, 91 degrees Celsius", "remedy": "look after fans and air of that machine"})"));
}

TEST(MachineReportText, IssuesOfGpus) {
    EXPECT_THAT(
        as_text(report_of_an_ill_gpu()),
        HasSubstr("             warning, GPU 1: process 7 computes on it; end it, or take another GPU: "
                  "ps -o user,etime,args -p 7\n"));
}

TEST(MachineReport, GpusThatTheDriverAloneTellsOf) {
    auto report = report_of_an_ill_gpu();
    report.machine.gpus.clear();
    const auto json = nlohmann::json::parse(as_json(report));
    ASSERT_EQ(json["other_gpus"].size(), 1U);
    EXPECT_EQ(json["other_gpus"][0]["pci"], "0000:9a:00.0");
    EXPECT_EQ(json["other_gpus"][0]["health"]["uncorrected_errors"], 2);
    EXPECT_EQ(json["other_gpus"][0]["issues"].size(), 3U);
    EXPECT_THAT(as_text(report), HasSubstr("             fault, GPU 0000:9a:00.0: 2 errors of its memory"));
}

TEST(MachineReport, SoftwareThatDoesNotFitTogether) {
    auto report = full_report();
    report.versions.gpu = {.driver = "550.54.15",
                           .cuda_driver = "12.4",
                           .cuda_runtime = "13.0",
                           .nccl = "2.28.9",
                           .nccl_built = "2.27.3",
                           .nccl_needed = "2.27.3",
                           .nccl_cuda = "13.0"};
    EXPECT_THAT(
        as_text(report),
        AllOf(HasSubstr(
                  "             fault: its GPU driver 550.54.15 supports CUDA 12.4, but dtrain was built "
                  "with 13.0; install driver 580 or newer there, or build dtrain with a CUDA Toolkit 12\n"),
              HasSubstr("             CUDA driver   12.4, of NVIDIA's driver 550.54.15\n"),
              HasSubstr("             NCCL          2.28.9, compiled for CUDA 13.0; built with 2.27.3\n")));
    EXPECT_EQ(nlohmann::json::parse(as_json(report))["versions"]["gpu_driver"], "550.54.15");
}

TEST(MachineReport, WhyThereIsNoNccl) {
    MachineReport report;
    report.nccl.why_none = "NCCL cannot be used on n1: libnccl.so.2 is not there";
    EXPECT_THAT(as_text(report),
                AllOf(HasSubstr("NCCL         NCCL cannot be used on n1: libnccl.so.2 is not there\n"
                                "             no variable of NCCL is set\n"),
                      HasSubstr("             CUDA runtime  not here\n"),
                      HasSubstr("             NCCL          not here\n")));
    EXPECT_EQ(nlohmann::json::parse(as_json(report))["nccl"]["unavailable"], report.nccl.why_none);
}

TEST(MachineReportJson, SurvivesBytesThatAreNoText) {
    auto report = full_report();
    report.job_id = "\xff";
    report.visible.variable = "";
    const auto json = nlohmann::json::parse(as_json(report));
    EXPECT_EQ(json["job"]["job_id"], "\xef\xbf\xbd");
    EXPECT_EQ(json["cuda_visible_devices"]["value"], "") << "set to nothing is not the same as not set";
}

TEST(MpiOf, ReadsWhatTheLibrariesSay) {
    const auto expect = [](std::string_view text, const std::string& flavour, const std::string& version) {
        const MpiReport report = mpi_of(text);
        EXPECT_EQ(report.flavour, flavour);
        EXPECT_EQ(report.version, version) << text;
    };
    expect("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022",
           "Open MPI", "4.1.4");
    expect("Open MPI v5.0.0rc12, package: Open MPI", "Open MPI", "5.0.0rc12");
    expect("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n", "MPICH", "4.0.2");
    expect("Intel(R) MPI Library 2021.9 for Linux* OS\n", "Intel MPI", "2021.9");
    expect("MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\n", "Cray MPICH", "8.1.25.17");
    expect("MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date : Wed March 02", "MVAPICH2", "2.3.7");
    expect("Acme MPI 7\nmore", "Acme MPI 7", "");
    expect("", "", "");
}

TEST(MpirunVersionOf, ReadsWhatTheProgramsPrint) {
    EXPECT_EQ(mpirun_version_of("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/\n"),
              "Open MPI 4.1.4");
    EXPECT_EQ(mpirun_version_of("HYDRA build details:\n    Version:                                 4.0.2\n"),
              "hydra (MPICH) 4.0.2");
    EXPECT_EQ(mpirun_version_of("Intel(R) MPI Library for Linux* OS, Version 2021.6 Build 20220227\n"),
              "Intel MPI 2021.6");
    EXPECT_EQ(mpirun_version_of("usage: mpirun prog\n"), "");
}

class Programs : public ::testing::Test {
  protected:
    void add_mpirun(const std::string& script) const {
        std::ofstream(folder_ / "mpirun") << "#!/bin/sh\n" << script << "\n";
        fs::permissions(folder_ / "mpirun", fs::perms::owner_all);
    }
    MachineReport report(Environment environment) const {
        environment.set("PATH", folder_.path().string());
        return machine_report(two_packages(), CpuSet::range(0, 3), environment);
    }

    const tests::TemporaryFolder folder_;
};

TEST_F(Programs, WithoutMpirun) {
    const auto seen = report({});
    EXPECT_EQ(seen.mpi, MpiReport{});
    EXPECT_EQ(seen.scheduler, "");
    EXPECT_EQ(seen.machine, two_packages());
    EXPECT_EQ(seen.affinity, CpuSet::range(0, 3));
    EXPECT_EQ(seen.visible.devices.size(), 2U);
    EXPECT_FALSE(seen.versions.dtrain.empty());
    EXPECT_THAT(seen.versions.hwloc_running, HasSubstr("."));
}

TEST_F(Programs, ShowsTheVariablesOfNcclAsTheyAre) {
    const auto seen = report({{"NCCL_SOCKET_IFNAME", "^lo,docker"},
                              {"NCCL_MADE_UP", ""},
                              {"NCCLX", "1"},
                              {"NCCL", "2"},
                              {"TORCH_NCCL_BLOCKING_WAIT", "1"}});
    EXPECT_EQ(seen.nccl.settings,
              (std::vector<NcclReport::Setting>{{"NCCL_MADE_UP", ""}, {"NCCL_SOCKET_IFNAME", "^lo,docker"}}));
    EXPECT_TRUE(report({}).nccl.settings.empty());
}

TEST_F(Programs, AsksMpirun) {
    add_mpirun("[ \"$1\" = --version ] && echo 'mpirun (Open MPI) 5.0.11'");
    const auto seen = report({});
    EXPECT_EQ(seen.mpi.mpirun, (folder_ / "mpirun").string());
    EXPECT_EQ(seen.mpi.mpirun_version, "Open MPI 5.0.11");
}

TEST_F(Programs, AnMpirunThatFailsTellsNoVersion) {
    add_mpirun("echo 'mpirun (Open MPI) 5.0.11'; exit 1");
    EXPECT_EQ(report({}).mpi.mpirun_version, "");
    EXPECT_EQ(report({}).mpi.mpirun, (folder_ / "mpirun").string());
}

TEST_F(Programs, SchedulersAndVisibleDevices) {
    const auto slurm = report({{"SLURM_JOB_ID", "4711"}, {"CUDA_VISIBLE_DEVICES", "1"}});
    EXPECT_EQ(slurm.scheduler, "Slurm");
    EXPECT_EQ(slurm.job_id, "4711");
    EXPECT_EQ(slurm.visible.devices, (std::vector<topology::VisibleGpu>{{"1", 1}}));
    const auto pbs = report({{"PBS_JOBID", "12.server"}, {"CUDA_VISIBLE_DEVICES", "1,1"}});
    EXPECT_EQ(pbs.scheduler, "PBS");
    EXPECT_EQ(pbs.job_id, "12.server");
    EXPECT_THAT(pbs.visible.error, HasSubstr("\"1\" names the same device"));
}

}  // namespace
}  // namespace dtrain::worker
