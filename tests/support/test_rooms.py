# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A room that includes what it may not know does not compile. Oracle: the compiler, called as the build calls it for a
file of that room, and the arrows in CONTRIBUTING.md."""
import json
import os
import shlex
import subprocess

import pytest

from whole_jobs import BUILD, ROOT

COMMANDS = json.loads((BUILD / "compile_commands.json").read_text())

# A target, and headers of rooms that it may know and may not know.
ARROWS = {
    "src/base/libdtrain_base.a.p": (["base/text.hpp"], ["comm/node/backoff.hpp", "identity/address.hpp"]),
    "src/identity/libdtrain_identity.a.p": (["identity/address.hpp", "base/text.hpp"], ["protocol/event.hpp", "launch/options/options.hpp"]),
    "src/comm/libdtrain_comm.a.p": (["comm/node/backoff.hpp", "base/text.hpp"], ["launch/options/options.hpp", "program/ir/operators.hpp"]),
    "src/storage/libdtrain_storage.a.p": (["storage/shard_plan.hpp"], ["data/prefetcher.hpp", "comm/node/backoff.hpp"]),
    "src/launch/libdtrain_launch.a.p": (["launch/options/options.hpp", "transport/frames.hpp"], ["comm/node/backoff.hpp", "worker/options.hpp"]),
    "src/launch/plan/libdtrain_launch_plan.a.p": (["launch/options/options.hpp", "topology/select_gpus.hpp"],
                                                  ["launch/backend/registry.hpp", "transport/frames.hpp"]),
    "src/launch/outcome/libdtrain_launch_outcome.a.p": (["launch/backend/registry.hpp", "metrics/run.hpp"],
                                                        ["launch/jobs/job_view.hpp", "launch/conclusion.hpp"]),
    "src/scheduler/libdtrain_scheduler.a.p": (["identity/address.hpp"], ["launch/options/options.hpp", "topology/select_gpus.hpp"]),
    "src/ps/table/libdtrain_ps_table.a.p": (["ps/table/row_arena.hpp", "kernels/loops/loops.hpp"],
                                            ["kernels/kernel.hpp", "ps/store/table_saver.hpp"]),
    "src/worker/libdtrain_worker.a.p": (["worker/options.hpp", "identity/address.hpp"],
                                        ["native/options.hpp", "comm/node/backoff.hpp"]),
    "src/gpu/libdtrain_gpu_stand_in.so.p": (["gpu/stream.hpp", "kernels/data_errors.hpp"], ["program/ir/operators.hpp"]),
    "tests/comm/test_comm.p": (["comm/node/backoff.hpp", "support/fuzz.hpp"], ["launch/options/options.hpp"]),
}


def compiled(target, header, folder):
    """What the compiler says about a source of the target with nothing in it but that header."""
    command = next(c for c in COMMANDS if c["output"].startswith(target + "/"))
    words = shlex.split(command["command"])
    words = words[:words.index("-c")]
    # What would be written, and where.
    words.remove("-MD")
    for option in ("-MQ", "-MF", "-o"):
        at = words.index(option)
        del words[at:at + 2]
    source = folder / "source.cpp"
    source.write_text(f'#include "{header}"\n')
    return subprocess.run([*words, "-fsyntax-only", source], cwd=command["directory"], text=True, capture_output=True,
                          timeout=120, check=False, env={**os.environ, "LC_ALL": "C", "CCACHE_DISABLE": "1"})


@pytest.mark.parametrize("target, header", [(target, header) for target, (known, _) in ARROWS.items() for header in known])
def test_finds_what_it_may_know(target, header, tmp_path):
    done = compiled(target, header, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target, header", [(target, header) for target, (_, other) in ARROWS.items() for header in other])
def test_does_not_find_another_rooms_headers(target, header, tmp_path):
    assert (ROOT / "src" / header).is_file(), "no such header any more"
    done = compiled(target, header, tmp_path)
    assert done.returncode != 0
    assert f"{header}: No such file" in done.stderr or f"'{header}' file not found" in done.stderr


@pytest.fixture
def source(tmp_path):
    for name in ("a/one.hpp", "a/two.hpp", "b/three.hpp"):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).touch()
    return tmp_path / "src"


def links(folder):
    return {str(path.relative_to(folder)): (os.readlink(path), path.lstat().st_ino) for path in folder.rglob("*") if path.is_symlink()}


def link(folder, source, *patterns):
    subprocess.run([ROOT / "src/link_room", folder, source, *patterns], check=True)
    return links(folder)


def test_links_that_are_right_are_never_gone(source, tmp_path):
    """They are the same ones when the build is configured anew, maybe beside a compiler."""
    first = link(tmp_path / "room", source, "a", "b/three.hpp")
    assert {name: target for name, (target, _) in first.items()} == {"a": str(source / "a"), "b/three.hpp": str(source / "b/three.hpp")}
    assert link(tmp_path / "room", source, "a", "b/three.hpp") == first


@pytest.mark.parametrize("before, after", [(["a"], ["a/*.hpp"]), (["a/*.hpp"], ["a"]), (["a/one.hpp", "b"], ["a/two.hpp"])])
def test_links_are_what_is_named_now(source, tmp_path, before, after):
    link(tmp_path / "room", source, *before)
    assert link(tmp_path / "room", source, *after).keys() == link(tmp_path / "other", source, *after).keys()
    assert sorted(str(path.relative_to(source)) for path in source.rglob("*.hpp")) == ["a/one.hpp", "a/two.hpp", "b/three.hpp"]
