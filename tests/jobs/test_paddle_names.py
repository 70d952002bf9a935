# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Every name of dtrain's that docs/compatibility.md gives for one of Paddle's static graph and fleet is in the public headers.

Oracle: the compiler. A member is named by a struct that derives from its class, a function or a type by a using-declaration,
so that overloads and templates are found as well.
"""
import re
import shlex

from conftest import BUILD, ROOT, run

# All but the one that needs MPI's own header
HEADERS = sorted(path for path in (ROOT / "include/dtrain").glob("*.hpp") if path.name != "mpi.hpp")
ENUMS = set(re.findall(r"\benum class (\w+)", "".join(path.read_text() for path in HEADERS)))
SECTION = "### Static graph and fleet\n"


def rows():
    page = (ROOT / "docs/compatibility.md").read_text()
    table = page.split(SECTION)[1].split("\n#")[0]
    return [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("| `")]


def names_in(text):
    """As they stand between backticks, but for what is given to them: `Device::gpu(0)` is `Device::gpu()`."""
    return [re.sub(r"\(.*\)$", "()", name) for name in re.findall(r"`([^`]+)`", text)]


def declaration(number, name):
    """C++ that compiles when there is such a name."""
    scope, _, _ = name.removesuffix("()").rpartition("::")
    owner = scope.split("::")[-1]
    if owner in ENUMS:
        return f"[[maybe_unused]] constexpr auto check_{number} = dtrain::{name};"
    if owner[:1].isupper():
        return f"struct check_{number} : dtrain::{scope} {{ using dtrain::{name.removesuffix('()')}; }};"
    return f"namespace check_{number} {{ using dtrain::{name.removesuffix('()')}; }}"


def unknown(names, folder):
    """Those that the compiler does not know."""
    flags = run(["pkg-config", "--cflags", "dtrain"], ROOT, PKG_CONFIG_PATH=BUILD / "meson-uninstalled").stdout
    lines = [f"#include <dtrain/{path.name}>" for path in HEADERS]
    for number, name in enumerate(names):
        lines += [f'#line {number + 1} "names"', declaration(number, name)]
    (folder / "names.cpp").write_text("\n".join(lines) + "\n")
    done = run(["g++", "-std=c++20", "-fsyntax-only", "-fmax-errors=0", *shlex.split(flags), folder / "names.cpp"], folder, timeout=400)
    wrong = sorted({int(line) for line in re.findall(r"^names:(\d+):\d+: error:", done.stderr, re.M)})
    assert (done.returncode == 0) == (not wrong), done.stderr
    return [names[line - 1] for line in wrong]


def test_each_name_is_in_the_headers(tmp_path):
    table = rows()
    assert len(table) > 35 and all(len(row) == 3 for row in table), table
    names = sorted({name for row in table for name in names_in(row[2])})
    assert len(names) > 100
    assert unknown(names, tmp_path) == []


def test_a_name_that_is_not_there_is_found(tmp_path):
    existing = ["Executor", "Executor::run()", "Executor::feed()", "LastBatch::drop", "layers::fc()", "minimize()", "LocalSgd::every"]
    missing = ["Executer", "Executor::runs()", "LastBatch::dropped", "layers::fully_connected()", "minimise()", "LocalSgd::steps"]
    assert unknown(existing + missing, tmp_path) == missing


def test_what_the_documents_use_is_in_the_table():
    """Oracle: the names of Paddle's handbook and quick start."""
    paddle = " ".join(row[0] for row in rows())
    for name in ("fluid.data", "paddle.static.data", "fc", "embedding", "cross_entropy", "accuracy", "mean", "Adam", "minimize", "Executor",
                 "default_startup_program", "DataLoader", "fleet.init", "DistributedStrategy", "distributed_optimizer", "ParallelExecutor",
                 "memory_optimize", "DistributeTranspiler", "slice_var_up", "split_method", "CUDAPlace"):
        assert re.search(rf"\b{re.escape(name)}\b", paddle), name
