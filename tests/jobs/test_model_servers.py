# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A C++ program with a Model whose parameters are on servers, started by dtrain-launch --server_num 2 --worker_num 2.

Oracles: the same program without servers on two ranks, whose gradients sync mode adds in the same order; the program that
was not disturbed; what a job says and returns of which a server dies, or that is started in the wrong way. A value worked out
by hand is in tests/model/test_model_servers.cpp.
"""
import os
import re
import signal

import pytest

from example_programs import program_of
from whole_jobs import LAUNCH, processes_with

PROGRAM = r"""
#include <cstdio>
#include <filesystem>
#include <string>

#include <dtrain/dtrain.hpp>

using namespace dtrain;

int main(int argc, char** argv) {
    return run_main(argv[0], [&] {
        const ParallelEnv env(argc, argv);
        const std::string what = argv[1];  // "none": without servers
        const std::int64_t epochs = std::stoll(argv[2]);
        ModelOptions options{.communicator = env.communicator()};
        if (what != "none") options.servers = ParameterServers{.mode = server_mode_of(what).value()};
        Model model([](Program& program, const Var& x) {
                        return layers::fc(program, layers::fc(program, x, 16, {.activation = "relu"}), 2, {.name = "out"});
                    },
                    {"x", {3}}, {"label", {}, DataType::int64}, options);
        model.prepare(Adam{0.01}, CrossEntropyLoss{}, {Accuracy{}});
        if (model.serve()) return std::puts("served"), 0;
        std::vector<float> x;
        std::vector<std::int64_t> labels;
        for (int i = 0; i < 60; ++i) {
            for (int k = 0; k < 3; ++k) x.push_back(static_cast<float>((i * (k + 3) * 7) % 11) / 11);
            labels.push_back(x.end()[-1] + x.end()[-3] > 1 ? 1 : 0);
        }
        const Dataset data(x, labels, 3);
        if (argc > 3 && std::filesystem::exists(argv[3])) model.load(argv[3]);
        model.fit(data, {.epochs = epochs, .batch_size = 12, .callbacks = {std::make_shared<EpochLines>()}});
        const auto metrics = model.evaluate(data);
        if (argc > 3) model.save(argv[3]);
        if (model.communicator().rank() == 0)
            std::printf("loss %.9g accuracy %.4f parameters %016llx epochs %d\n", metrics.loss, metrics.metrics.at("accuracy"),
                        static_cast<unsigned long long>(parameters_checksum(model.state())), static_cast<int>(model.epochs_done()));
        return 0;
    });
}
"""
SERVERS = ["--server_num", "2", "--worker_num", "2"]


def of_program(job, *arguments, options=SERVERS):
    return job.launch(*options, program_of("model", PROGRAM), *arguments, timeout=100)


def result_of(job, *arguments, options=SERVERS):
    """What the first trainer printed, which is on the console."""
    done = of_program(job, *arguments, options=options)
    assert done.returncode == 0, done.stderr
    return re.search(r"^loss .*", done.stdout, re.M)[0], re.findall(r"^epoch .*", done.stdout, re.M)


def lines_of_log(job, name):
    """The lines of a log but those of dtrain-worker: the launcher may stop a rank that still ends by itself."""
    return [line for line in (job.folder / "log" / name).read_text().splitlines()
            if not re.match(r"dtrain: .*stopped by SIGTERM ", line)]


def test_sync_trains_what_two_ranks_train(job):
    of_servers = result_of(job, "sync", 5)
    assert [lines_of_log(job, f"serverlog.{server}") for server in (0, 1)] == [["served"]] * 2
    assert of_servers == result_of(job, "none", 5, options=["--nproc_per_node", "2"])
    assert len(of_servers[1]) == 5


@pytest.mark.parametrize("mode", ["async", "half_async", "geo"])
def test_other_modes_learn(job, mode):
    result, epochs = result_of(job, mode, 60)
    losses = [float(re.search(r"loss ([\d.]+)", epoch)[1]) for epoch in epochs]
    assert losses[-1] < 0.7 * losses[0], losses
    assert float(re.search(r"accuracy ([\d.]+)", result)[1]) > 0.85, result


def test_a_job_goes_on_where_another_one_saved(job):
    undisturbed, _ = result_of(job, "sync", 6)
    result_of(job, "sync", 4, "saved")
    assert (job.folder / "saved/servers.json").exists() and (job.folder / "saved/trainer.h5").exists()
    again, epochs = result_of(job, "sync", 2, "saved")
    assert again == undisturbed and len(epochs) == 2


def test_a_server_that_dies_ends_the_job(job):
    program = program_of("model", PROGRAM)
    launcher = job.start(LAUNCH, *SERVERS, "--report", "report.json", program, "sync", "100000000")
    job.wait_until(lambda: (job.folder / "log/workerlog.0").exists() and "epoch   2" in job.log(0))
    server, = (pid for pid in set(processes_with(job.mark)) & set(processes_with("OMPI_COMM_WORLD_RANK=1"))
               if os.readlink(f"/proc/{pid}/exe") == str(program))
    os.kill(server, signal.SIGKILL)
    _, err = launcher.communicate(timeout=90)
    assert launcher.returncode == 128 + signal.SIGKILL, err
    assert re.search(r"SIGKILL", err) and "serverlog.1" in err, err
    assert not job.left_behind()


def test_without_servers_one_line_says_how_to_start_it(job):
    done = of_program(job, "sync", 1, options=["--nproc_per_node", "2"])
    assert done.returncode == 2
    lines = set(line for rank in (0, 1) for line in lines_of_log(job, f"workerlog.{rank}"))
    assert lines == {"model: the model is to be trained with parameter servers, and none of the job's 2 ranks is one: start it "
                     "with dtrain-launch --server_num N --worker_num M, or set ParameterServers::count to how many serve"}


def test_an_error_of_all_trainers_ends_the_job_with_its_line(job):
    done = of_program(job, "sync", -1)
    assert done.returncode == 2, done.stderr
    assert lines_of_log(job, "workerlog.0") == ["model: epochs is -1; it must be 0 or more"]
    assert set(lines_of_log(job, "serverlog.0")) <= {"served"}, "it says no error of its own"
