# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The programs in examples/, built as their README says.

Oracle: what they print; the loss of several ranks falls as it does on one, and virtual ranks have its bits.
What they save is read by h5py and dtrain-worker.
"""
import difflib
import re

import pytest

from conftest import ROOT, WORKER, mpirun, run
from example_programs import compiled, program_of


@pytest.fixture(scope="module")
def regression():
    return compiled(ROOT / "examples/spawn/regression.cpp")


@pytest.mark.parametrize("form, gpus, losses", [(1, "", 0), (3, "", 2), (2, "2,3,4", 3), (3, "6,7", 2), (4, "4,5,6", 2)])
def test_the_four_forms_of_spawn(regression, tmp_path, form, gpus, losses):
    """Oracle: a loss of each rank; the program itself compares the ranks' parameters."""
    done = run([regression, form], tmp_path, CUDA_VISIBLE_DEVICES=gpus, DTRAIN_DEVICE="cpu")
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^\[\d\] loss: \d\.\d{6}$", done.stdout, re.M)) == losses, done.stdout
    assert done.stdout.count("\n") == losses


def test_gpus_of_spawn_that_are_not_visible_are_named(regression, tmp_path):
    done = run([regression, 4], tmp_path, CUDA_VISIBLE_DEVICES="0,1")
    assert "there is no GPU 4 here; visible are 0,1" in done.stderr and done.stdout == ""


@pytest.fixture(scope="module")
def layer_programs():
    return {name: compiled(ROOT / f"examples/layer/{name}.cpp")
            for name in ("digits", "digits_ranks", "lenet", "lenet_ranks", "linear_net")}


@pytest.mark.parametrize("name", ["digits", "lenet"])
def test_from_one_rank_to_many_it_takes_three_lines(name):
    one, many = ((ROOT / f"examples/layer/{each}.cpp").read_text().splitlines() for each in (name, f"{name}_ranks"))
    changes = [line for line in difflib.ndiff(one, many) if line[0] in "+-"]
    assert sum(line[0] == "+" for line in changes) <= 3 and sum(line[0] == "-" for line in changes) <= 1, changes


LINE = re.compile(r"^epoch: (\d+), batch_id: (\d+), loss is: (\S+), acc is: (\S+)$", re.M)


@pytest.mark.parametrize("name, lines, alike", [("digits", 10, 10), ("lenet", 20, 4)])
def test_layers_learn_on_any_number_of_ranks_what_one_learns(name, lines, alike, layer_programs, tmp_path):
    """Oracle: means over the ranks' equal parts of a batch are those of the batch, while rounding stays rounding.

    With LeNet's ReLUs, pooling and Adam a last bit decides after some epochs which way training takes: one rank whose images are
    5e-7 brighter ends with a loss 6% off. So the first two epochs are compared, and how well all have learnt in the end.
    """
    digits = ROOT / "examples/digits.h5"
    alone = run([layer_programs[name], digits], tmp_path)
    assert alone.returncode == 0, alone.stderr
    expected = {(epoch, batch): (float(loss), float(acc)) for epoch, batch, loss, acc in LINE.findall(alone.stdout)}
    assert len(expected) == lines and float(alone.stdout.split("test acc is: ")[1]) > .94, alone.stdout

    assert run([layer_programs[f"{name}_ranks"], digits], tmp_path).stdout == alone.stdout
    for ranks in (2, 4):
        several = mpirun(ranks, [layer_programs[f"{name}_ranks"], digits], tmp_path)
        found = {}
        for epoch, batch, *metrics in LINE.findall(several.stdout):
            found.setdefault((epoch, batch), []).append([float(each) for each in metrics])
        assert found.keys() == expected.keys(), several.stdout + several.stderr
        assert {len(parts) for parts in found.values()} == {ranks}
        for step in list(expected)[:alike]:
            for mean, whole in zip((sum(each) / ranks for each in zip(*found[step])), expected[step]):
                assert mean == pytest.approx(whole, rel=1e-3, abs=1e-4), (step, ranks)
        learnt = re.findall(r"^test acc is: (\S+)$", several.stdout, re.M)
        assert len(learnt) == ranks and min(map(float, learnt)) > .94, several.stdout


@pytest.mark.parametrize("name", ["digits", "lenet"])
def test_layers_without_their_data_say_so(name, layer_programs, tmp_path):
    done = run([layer_programs[name], "nowhere.h5"], tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(f"{name}: ") and "nowhere.h5" in done.stderr, done.stderr


@pytest.mark.parametrize("form, gpus, losses", [(1, "", 0), (2, "2,3,4", 3), (3, "", 2), (4, "4,5,6", 2)])
def test_a_network_of_ones_own_in_the_four_forms_of_spawn(layer_programs, tmp_path, form, gpus, losses):
    """Oracle: each rank's own loss; the program itself compares the ranks' parameters."""
    done = run([layer_programs["linear_net"], form], tmp_path, CUDA_VISIBLE_DEVICES=gpus, DTRAIN_DEVICE="cpu")
    assert done.returncode == 0, done.stderr
    printed = re.findall(r"^\[\d\] loss: (\d\.\d{4})$", done.stdout, re.M)
    assert len(printed) == losses == len(set(printed)) and done.stdout.count("\n") == losses, done.stdout


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_network_of_libtorch_is_trained_by_all_ranks(torch_program, tmp_path, ranks):
    done = mpirun(ranks, [torch_program], tmp_path)
    losses = [float(each) for each in re.findall(r"^step \d+ loss (\d\.\d+)$", done.stdout, re.M)]
    assert len(losses) == 4 and losses[-1] < losses[0] - .05, done.stdout + done.stderr
    assert done.stdout.endswith(f"ranks {ranks}, parameters identical\n")


@pytest.fixture(scope="module")
def model_program():
    return compiled(ROOT / "examples/model/digits.cpp")


def test_a_model_is_trained_by_any_number_of_ranks_to_the_same_bits(model_program, tmp_path):
    digits = ROOT / "examples/digits.h5"
    alone = run([model_program, digits], tmp_path)
    assert alone.returncode == 0, alone.stdout + alone.stderr
    accuracies = [float(each) for each in re.findall(r"eval_accuracy (\d\.\d+)$", alone.stdout, re.M)]
    assert 3 < len(accuracies) <= 20 and accuracies[-1] > .95, alone.stdout
    # What evaluate() returns is what fit() told of its last epoch.
    loss, accuracy = re.findall(r"eval_loss (\S+)  eval_accuracy (\S+)$", alone.stdout, re.M)[-1]
    assert f"\ntest loss {loss}, accuracy {accuracy} of 389 samples\n" in alone.stdout, alone.stdout
    for ranks in (2, 3):
        several = mpirun(ranks, [model_program, digits], tmp_path)
        assert several.stdout == alone.stdout.replace("ranks 1,", f"ranks {ranks},"), several.stderr

    shown = run([WORKER, "--inspect", tmp_path / "digits-model.h5"], tmp_path)
    assert "cross_entropy" in shown.stdout and "/parameters/fc_1.weight" in shown.stdout, shown.stdout + shown.stderr


def test_h5py_reads_what_a_model_saves(model_program, tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py (Debian package python3-h5py) is not installed")
    assert run([model_program, ROOT / "examples/digits.h5"], tmp_path).returncode == 0
    with h5py.File(tmp_path / "digits-model.h5") as saved:
        assert saved["parameters/fc_0.weight"].shape == (64, 128)
        assert saved["job"].attrs["optimizer"] in ("adam", b"adam")


LONELY = """
#include <dtrain/model.hpp>
#include <dtrain/parallel_env.hpp>
#include <dtrain/layers.hpp>
#include <cstdlib>
#include <optional>
using namespace dtrain;
int main(int argc, char** argv) {
    const std::string how = argv[1];
    std::optional<ParallelEnv> env;
    if (how != "no-mpi") env.emplace(argc, argv);
    ModelOptions options{.trains_alone = how == "meant"};
    if (how == "split") options.communicator = env->communicator().split(env->rank(), 0);
    Model model([](Program& program, const std::string& x) { return layers::fc(program, x, 2); },
                {"x", {2}}, {"label", {}, DataType::int64}, options);
    model.prepare(Sgd{0.1}, CrossEntropyLoss{});
    const Dataset data({1, 2, 3, 4}, {0, 1}, 2);
    for (int time = 0; time < 2; ++time) model.fit(data, {.epochs = 1, .batch_size = 2});
}
"""


@pytest.mark.parametrize("how, ranks, lines", [("", 2, 1), ("no-mpi", 2, 2), ("", 1, 0), ("meant", 2, 0), ("split", 2, 0)])
def test_a_model_that_each_rank_trains_alone_says_so(tmp_path, how, ranks, lines):
    """One line of a node; of each rank when there is no MPI that could tell who it is."""
    done = mpirun(ranks, [program_of("lonely", LONELY), how], tmp_path)
    assert done.returncode == 0, done.stderr
    line = f"dtrain: each of the {ranks} ranks trains a Model of its own, as it has no ModelOptions::communicator; "
    assert done.stderr.count(line) == done.stderr.count("dtrain:") == lines, done.stderr


def test_a_model_without_its_data_says_so(model_program, tmp_path):
    done = run([model_program, "nowhere.h5"], tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("digits: ") and "nowhere.h5" in done.stderr, done.stderr


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_loop_of_ones_own_learns_on_any_number_of_ranks_what_one_learns(tmp_path, ranks):
    """Oracle: means over the ranks' equal parts of a batch are those of the batch, to rounding; 100 does not divide the samples."""
    program = compiled(ROOT / "examples/loop/digits.cpp")
    alone, several = (mpirun(count, [program, ROOT / "examples/digits.h5"], tmp_path) for count in (1, ranks))
    losses, found = (re.findall(r"^epoch +\d+  loss (\d\.\d{4})$", done.stdout, re.M) for done in (alone, several))
    assert len(losses) == 10 and float(losses[-1]) < .25, alone.stdout + alone.stderr
    assert [float(loss) for loss in found] == pytest.approx([float(loss) for loss in losses], abs=1e-3), several.stdout + several.stderr
    last = re.search(rf"^ranks {ranks}, test accuracy (0\.\d+), parameters identical\n\Z", several.stdout, re.M)
    assert last and float(last[1]) > .92, several.stdout


@pytest.fixture(scope="module")
def own_kernels():
    return compiled(ROOT / "examples/own_kernels/train.cpp")


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_kernels_of_ones_own_go_on_from_their_checkpoints(own_kernels, tmp_path, ranks):
    undisturbed = mpirun(ranks, [own_kernels], tmp_path).stdout
    assert undisturbed.count("\n") == 201, undisturbed
    assert mpirun(ranks, [own_kernels, "checkpoints"], tmp_path).stdout == undisturbed
    (tmp_path / "checkpoints/epoch-000000-step-000200/index.h5").write_bytes(b"")  # the one of step 150 is whole
    resumed = mpirun(ranks, [own_kernels, "checkpoints"], tmp_path).stdout
    assert resumed == "".join(undisturbed.splitlines(keepends=True)[150:])


OTHER_TYPES = """
#include <vector>
#include <dtrain/state_checkpoints.hpp>
int main() {
    using namespace dtrain;
    std::vector<float16> half{float16(0.5F), float16(-65504), float16(6e-8F), float16(0.1F)};
    std::vector<bfloat16> brain{bfloat16(0.1F), bfloat16(3e38F), bfloat16(-1e-40F), bfloat16(0.5F)};
    std::vector<std::uint8_t> random{0, 1, 128, 255};
    for (const auto format : {CheckpointFormat::directory, CheckpointFormat::file}) {
        StateCheckpoints checkpoints("checkpoints",
                                     {{"layer/half", {2, 2}, half}, {"brain", {}, brain}, {"random", {}, random, false}},
                                     Communicator(), {.format = format});
        checkpoints.save({.epoch = 1});
        checkpoints.finish();
    }
}
"""


def test_h5py_reads_buffers_of_every_type(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py (Debian package python3-h5py) is not installed")
    numpy = pytest.importorskip("numpy")
    source = tmp_path / "other_types.cpp"
    source.write_text(OTHER_TYPES)
    assert run([compiled(source)], tmp_path).returncode == 0
    brain = numpy.array([.1, 3e38, -1e-40, .5], dtype=numpy.float32).view(numpy.uint32)
    brain = (brain + 0x7fff + (brain >> 16 & 1)) & 0xffff0000  # rounded to the nearest, ties to even
    for file in ("epoch-000001/index.h5", "epoch-000001.h5"):
        with h5py.File(tmp_path / "checkpoints" / file) as saved:
            half = saved["parameters/layer/half"]
            assert half.dtype == numpy.float16
            assert (half[...] == numpy.array([[.5, -65504], [6e-8, .1]], dtype=numpy.float16)).all()
            assert (saved["parameters/brain"][...].astype(numpy.float32).view(numpy.uint32) == brain).all()
            assert saved["optimizer/random"].dtype == numpy.uint8
            assert list(saved["optimizer/random"]) == [0, 1, 128, 255]
