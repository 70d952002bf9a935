// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: batch scripts written by hand from sbatch's manual page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "launch/jobs/job_for_queue.hpp"
#include "launch/jobs/run_submit.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::refuses;

std::string script_for(const std::vector<std::string>& words, const std::vector<Setting>& settings = {}) {
    const auto parsed = parse_options(words, {}, settings);
    auto job = options_of_job(parsed);
    job.push_back(parsed.options.script);
    job.insert(job.end(), parsed.options.script_arguments.begin(), parsed.options.script_arguments.end());
    return scheduler::find("slurm")->script(
        job_request(parsed.options, "/opt/my dtrain/bin/dtrain-launch", job));
}

TEST(BatchScript, OfAGpuJob) {
    EXPECT_EQ(
        script_for({"--nodes", "2", "--gpus", "4", "--time", "1:00:00", "--partition", "gpu",
                    "--account=team", "--sbatch=--exclusive", "--grace", "90", "--log_overwrite", "train.py",
                    "--lr", "a b"}),
        "#!/bin/bash\n"
        "# Made by dtrain-launch submit.\n"
        "#SBATCH --job-name=train\n"
        "#SBATCH --nodes=2\n"
        "#SBATCH --ntasks-per-node=1\n"
        "#SBATCH --cpus-per-task=4\n"
        "#SBATCH --gres=gpu:4\n"
        "#SBATCH --time=1:00:00\n"
        "#SBATCH --partition=gpu\n"
        "#SBATCH --account=team\n"
        "#SBATCH --signal=B:TERM@120\n"
        "#SBATCH --output=train-%j.out\n"
        "#SBATCH --exclusive\n"
        "set -e\n"
        "exec '/opt/my dtrain/bin/dtrain-launch' --log_dir=log/%j --log_overwrite=True --grace=90 train.py "
        "--lr 'a b'\n");
}

TEST(BatchScript, OfACpuJobWithSettings) {
    EXPECT_EQ(script_for({"--nproc_per_node", "8", "--log_dir", "runs", "sub/my job.sh"},
                         {{"partition", "main", "/etc/dtrain.toml"},
                          {"modules", "mpi 'my module'", "/etc/dtrain.toml"}}),
              "#!/bin/bash\n"
              "# Made by dtrain-launch submit.\n"
              "#SBATCH --job-name=my-job\n"
              "#SBATCH --nodes=1\n"
              "#SBATCH --ntasks-per-node=8\n"
              "#SBATCH --partition=main\n"
              "#SBATCH --signal=B:TERM@60\n"
              "#SBATCH --output=my-job-%j.out\n"
              "set -e\n"
              "module load mpi 'my module'\n"
              "exec '/opt/my dtrain/bin/dtrain-launch' --log_dir=runs --nproc_per_node=8 'sub/my job.sh'\n");
}

TEST(BatchScript, GpusAsNumberTypeOrList) {
    EXPECT_THAT(script_for({"--gpus", "a100:8", "t.py"}),
                AllOf(HasSubstr("--gres=gpu:a100:8\n"), HasSubstr("task=8\n")));
    EXPECT_THAT(script_for({"--gpus", "0,1,2", "t.py"}), HasSubstr("--gres=gpu:3\n"));
    EXPECT_THAT(script_for({"--gpus", "2", "--cpus", "32", "t.py"}), HasSubstr("--cpus-per-task=32\n"));
    for (const char* wrong : {"0", "all", "x y:2", "a100:"})
        EXPECT_THAT([&] { script_for({"--gpus", wrong, "t.py"}); }, refuses(std::string("--gpus ") + wrong));
}

TEST(BatchScript, ProcessorsOfANodeAreNoRanks) {
    const auto script = script_for({"--cpus", "16", "t.py"});
    EXPECT_THAT(script, AllOf(HasSubstr("--ntasks-per-node=1\n"), HasSubstr("--cpus-per-task=16\n"),
                              HasSubstr("dtrain-launch' --nproc_per_node=1 ")));
}

TEST(BatchScript, VariablesOfTheJobStayApart) {
    EXPECT_THAT(script_for({"--env", "A=1", "--env", "B=x y", "t.py"}),
                HasSubstr(" --env=A=1 '--env=B=x y' t.py\n"));
}

TEST(BatchScript, LinesThatNoScriptCanHaveAreRefused) {
    for (const char* option : {"--partition", "--account", "--time"})
        for (const char* value : {"a b", "x\n#SBATCH --y", "", "a#b"})
            EXPECT_THAT([&] { script_for({option, value, "t.py"}); }, refuses(option)) << value;
    EXPECT_THROW(script_for({"--sbatch", "exclusive", "t.py"}), UsageError);
    EXPECT_THROW(script_for({"--sbatch=--a\nrm -r x", "t.py"}), UsageError);
    EXPECT_THROW(script_for({"--nodes", "2:4", "t.py"}), UsageError);
}

TEST(BatchScript, TheNameOfAJobIsAWord) {
    EXPECT_THAT(script_for({"a\n#SBATCH x.py"}), HasSubstr("--job-name=a--SBATCH-x\n"));
}

std::string pbs_script_for(const std::vector<std::string>& words) {
    const auto parsed = parse_options(words, {});
    auto job = options_of_job(parsed);
    job.push_back(parsed.options.script);
    return scheduler::find("pbs")->script(job_request(parsed.options, "/opt/bin/dtrain-launch", job));
}

constexpr std::string_view nodes_of_a_slurm_cluster =
    "cd \"${PBS_O_WORKDIR:-$PWD}\"\n"
    "# PBS' commands in front of a Slurm cluster write no file of the nodes by themselves.\n"
    "if [ -z \"${PBS_NODEFILE:-}\" ] && command -v generate_pbs_nodefile >/dev/null; then\n"
    "    PBS_NODEFILE=$(generate_pbs_nodefile)\n"
    "    export PBS_NODEFILE\n"
    "fi\n";

TEST(PbsScript, OfAGpuJob) {
    EXPECT_EQ(pbs_script_for({"--nodes", "2", "--gpus", "4", "--time", "1:00:00", "--partition", "gpu",
                              "--account=team", "--qsub=-W umask=077", "--modules", "cuda", "train.py"}),
              "#!/bin/bash\n"
              "# Made by dtrain-launch submit.\n"
              "#PBS -N train\n"
              "#PBS -l select=2:ncpus=4:mpiprocs=1:ngpus=4\n"
              "#PBS -l place=scatter\n"
              "#PBS -l walltime=01:00:00\n"
              "#PBS -q gpu\n"
              "#PBS -A team\n"
              "#PBS -j oe\n"
              "#PBS -W umask=077\n"
              "set -e\n" +
                  std::string(nodes_of_a_slurm_cluster) +
                  "module load cuda\n"
                  "exec /opt/bin/dtrain-launch --grace=8 --log_dir=log/%j train.py\n");
}

TEST(PbsScript, OfACpuJob) {
    EXPECT_EQ(pbs_script_for({"--nproc_per_node", "8", "2a very long name of a script.sh"}),
              "#!/bin/bash\n"
              "# Made by dtrain-launch submit.\n"
              "#PBS -N j2a-very-long-n\n"
              "#PBS -l select=1:ncpus=8:mpiprocs=8\n"
              "#PBS -j oe\n"
              "set -e\n" +
                  std::string(nodes_of_a_slurm_cluster) +
                  "exec /opt/bin/dtrain-launch --grace=8 --log_dir=log/%j --nproc_per_node=8 '2a very long "
                  "name of a "
                  "script.sh'\n");
}

TEST(PbsScript, AGraceThatIsGivenCounts) {
    for (const char* seconds : {"90", "10"}) {
        const auto script = pbs_script_for({"--grace", seconds, "t.py"});
        EXPECT_THAT(script, HasSubstr(std::string(" --grace=") + seconds + " "));
        EXPECT_THAT(script, testing::Not(HasSubstr("--grace=8")));
    }
}

TEST(PbsScript, WhatItCannotSayIsRefused) {
    EXPECT_THROW(pbs_script_for({"--gpus", "a100:4", "t.py"}), UsageError);
    EXPECT_THROW(pbs_script_for({"--sbatch=--exclusive", "t.py"}), UsageError);
    EXPECT_THROW(pbs_script_for({"--qsub", "umask", "t.py"}), UsageError);
    EXPECT_THROW(pbs_script_for({"--partition", "a b", "t.py"}), UsageError);
    EXPECT_THROW(script_for({"--qsub=-W umask=077", "t.py"}), UsageError);
}

TEST(BatchScript, HowToFollow) {
    const auto options = parse_options({"train.py"}, {}).options;
    const auto request = job_request(options, "dtrain-launch", {"train.py"});
    EXPECT_THAT(
        how_to_follow(*scheduler::find("slurm"), request, "77", options),
        AllOf(HasSubstr("train-77.out\n"), HasSubstr("log/77)"), HasSubstr("dtrain-launch cancel 77 ")));
    EXPECT_THAT(how_to_follow(*scheduler::find("pbs"), request, "77.server", options),
                AllOf(HasSubstr("train.o77\n"), HasSubstr("log/77.server)"),
                      HasSubstr("dtrain-launch logs -f 77.server ")));
}

TEST(Submit, ItsOptionsAreNoneOfAJobThatStartsNow) {
    EXPECT_THAT(
        [] {
            refuse_submit_options(parse_options({"--partition", "p", "t.py"}, {}));
        },
        refuses("--partition is for dtrain-launch submit"));
    EXPECT_NO_THROW(
        refuse_submit_options(parse_options({"t.py"}, {}, {{"partition", "p", "/etc/dtrain.toml"}})));
}

}  // namespace
}  // namespace dtrain::launch
