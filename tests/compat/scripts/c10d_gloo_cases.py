# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's own cases for gloo, test_c10d_gloo.py of its source tree, over gloo and over dtrain: there "dtrain" stands
wherever the cases say "gloo", and where they make a ProcessGroupGloo they get a group of dtrain. The sources are those of the installed
version of torch.

    c10d_gloo_cases.py SOURCES/test/distributed FOLDER [CLASS.CASE...]    outcomes: FOLDER/gloo.json, FOLDER/dtrain.json, FOLDER/cases.txt

Each case has processes of its own; C10D_CASE_LIMIT (60) is how many seconds it may take."""
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

from c10d_cases import outcome_of

LIMIT_S = int(os.environ.get("C10D_CASE_LIMIT", "60"))
#: Cases for which PyTorch wants GPUs, although they use the host's memory only
FOR_HOST_MEMORY = {"test_sequence_num_set_default_pg_gloo", "test_sequence_num_set_gloo_new_group", "test_gloo_rank_membership",
                   "test_tensor_dtype_mismatch", "test_tensor_dtype_complex"}
GLOO_GROUP = "c10d.ProcessGroupGloo(store, self.rank, self.world_size, opts)"
#: What a case asks of gloo and not of others (reduce_scatter), so that it asks more of dtrain
ASKS_MORE_OF_OTHERS = 'if backend != "gloo"'
#: Whose name() is "custom": groups in C++ of back ends that are not torch's own
IN_CPP = 'elif backend != "threaded":'
#: The network device of gloo, which no later line uses
DEVICE_OF_GLOO = "backend.create_device(interface=LOOPBACK)"


def changed(text, backend):
    """The source of a file of cases, for a back end."""
    lines = []
    for line in text.splitlines():
        if ASKS_MORE_OF_OTHERS not in line:
            line = line.replace('"gloo"', f'"{backend}"')
        if backend != "gloo":
            line = line.replace(GLOO_GROUP, "_dtrain_group(store, self.rank, self.world_size, opts)")
            line = line.replace(DEVICE_OF_GLOO, "pass").replace(IN_CPP, 'elif backend not in ("threaded", "dtrain"):')
        if line.startswith("    def test_") and line[8:line.index("(")] in FOR_HOST_MEMORY:
            while lines[-1].lstrip().startswith("@"):
                lines.pop()
        lines.append(line)
    return "\n".join(lines) + "\n"


def dtrain_group(store, rank, size, opts):
    """As init_process_group() makes it, with the time limit of gloo's options."""
    import dtrain.torch
    return dtrain.torch._create(types.SimpleNamespace(store=store, group_rank=rank, group_size=size, group_id="of a case",
                                                      timeout=opts._timeout, global_ranks_in_group=[]), None)


def loaded(sources, name, backend):
    path = sources / f"{name}.py"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    module._dtrain_group = dtrain_group
    sys.modules[name] = module
    exec(compile(changed(path.read_text(encoding="utf-8"), backend), str(path), "exec"), vars(module))
    return module


def classes_of(sources, backend):
    """PyTorch's classes of cases by name; their processes are forks, which need not import torch again."""
    from torch.testing._internal import common_distributed
    common_distributed.MultiProcessTestCase._spawn_processes = \
        lambda self: self._start_processes(multiprocessing.get_context("fork").Process)
    loaded(sources, "test_c10d_common", backend)
    module = loaded(sources, "test_c10d_gloo", backend)
    return {name: kind for name, kind in vars(module).items()
            if isinstance(kind, type) and issubclass(kind, unittest.TestCase) and kind.__module__ == module.__name__}


def send_outcome(case, answer):
    answer.send(outcome_of(case))


def outcome_in_its_own_process(case):
    """["passed" | "skipped" | "failed", why]: one that crashes or hangs does not disturb the others."""
    mine, other = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=send_outcome, args=(case, other))
    process.start()
    other.close()
    try:
        if not mine.poll(LIMIT_S + 30):
            return "failed", f"no end within {LIMIT_S + 30} s"
        return mine.recv()
    except EOFError:
        process.join()
        return "failed", f"the process ended with {process.exitcode}"
    finally:
        process.join(5)
        process.kill()
        process.join()


def run_over(backend, sources, path, names):
    """Cases of these names, or all. What they came to is in the file after each."""
    if backend == "dtrain":
        import dtrain.torch  # noqa: F401  # it registers the back end
    classes = classes_of(sources, backend)
    all_of_them = [f"{kind}.{case}" for kind in classes for case in unittest.defaultTestLoader.getTestCaseNames(classes[kind])]
    outcomes = {}
    for name in names or all_of_them:
        kind, case = name.split(".")
        outcomes[name] = outcome_in_its_own_process(classes[kind](case))
        print(f"{backend} {name}: {outcomes[name][0]}", flush=True)
        path.write_text(json.dumps(outcomes, indent=1), encoding="utf-8")


def outcomes_over(backend, sources, folder, names):
    """run_over() in a process of its own: PyTorch's modules read the environment when they are imported."""
    path = folder / f"{backend}.json"
    with tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, "TEMP_DIR": scratch, "TMPDIR": scratch, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
                       "DISTRIBUTED_TESTS_DEFAULT_TIMEOUT": str(LIMIT_S)}
        subprocess.run([sys.executable, __file__, "--over", backend, str(sources), str(path), *names], env=environment, check=True)
    return json.loads(path.read_text(encoding="utf-8"))


def check_version(sources):
    """Cases of one version ask what another one has not."""
    file = sources.parent.parent / "version.txt"
    if not file.exists():
        return
    theirs, ours = file.read_text(encoding="utf-8").strip(), importlib.metadata.version("torch")
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        sys.exit(f"c10d_gloo_cases.py: {sources} is of PyTorch {theirs}, and torch {ours} is installed: take the sources of its tag v{ours}")


def main():
    if sys.argv[1] == "--over":
        run_over(sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]), sys.argv[5:])
        return
    sources, folder, names = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    check_version(sources)
    theirs = outcomes_over("gloo", sources, folder, names)
    ours = outcomes_over("dtrain", sources, folder, names)
    table = "".join(f"{name:<100} {theirs[name][0]:<8} {ours[name][0]}\n" for name in theirs)
    (folder / "cases.txt").write_text(table, encoding="utf-8")
    wanted = [name for name in theirs if theirs[name][0] == "passed"]
    different = [name for name in wanted if ours[name][0] != "passed"]
    print(f"of {len(wanted)} cases that pass with gloo {len(wanted) - len(different)} pass with dtrain")
    for name in different:
        print(f"  {name}: {ours[name][0]}\n{ours[name][1]}")


main()
