# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/hangs.md, of the results of runs."""
import json
import re

import kinds
from whole_jobs import ROOT

BEGIN, END = "<!-- Of tests/hang_matrix/matrix -->", "<!-- End -->"
HEADS = {"native": "native job", "dtrain": "dtrain's communicator", "mpi": "C++ with MPI", "mpi4py": "mpi4py",
         "torch_dtrain": "torch, dtrain", "torch_gloo": "torch, gloo", "gloo_stacks": "torch, gloo by stacks", "paddle": "Paddle, gloo"}
CHINESE_HEADS = {**HEADS, "native": "原生作业", "dtrain": "dtrain 的通信器", "mpi": "C++ 与 MPI", "gloo_stacks": "torch，gloo，仅凭栈"}
PAGES = {ROOT / "docs/hangs.md": ("kind", HEADS, "text", "itself", "no"),
         ROOT / "docs/zh/hangs.md": ("种类", CHINESE_HEADS, "chinese", "自报", "否")}


def cells_of(results):
    """By the row's text and the column: its last run."""
    row_of = {kinds.title_of(kind): kind.text for kind in kinds.KINDS}
    cells = {}
    with open(results, encoding="utf-8") as lines:
        for line in lines:
            run = json.loads(line)
            if run["outcome"] != "cannot":
                cells[row_of[run["kind"]], run["column"]] = run
    return cells


def text_of(run, refused, wrong):
    if run is None:
        return ""
    if run["outcome"] == "right":
        return f"{max(run['seconds'], 0):.1f}"
    return refused if run["outcome"] == "refused" else wrong


def table(cells, first, heads, name, refused, wrong):
    lines = ["| " + " | ".join([first, *heads.values()]) + " |", "|---" * (1 + len(heads)) + "|"]
    rows = {kind.text: getattr(kind, name) for kind in kinds.KINDS}
    for text, shown in rows.items():
        if any((text, column) in cells for column in heads):
            lines.append("| " + " | ".join([shown, *(text_of(cells.get((text, column)), refused, wrong) for column in heads)]) + " |")
    return "\n".join(re.sub(r"\|  \|", "| |", re.sub(r"\|  (?=\|)", "| ", line)) for line in lines)


def write(results):
    cells = cells_of(results)
    for page, (first, heads, name, refused, wrong) in PAGES.items():
        before, rest = page.read_text(encoding="utf-8").split(BEGIN)
        after = rest.split(END)[1]
        page.write_text(f"{before}{BEGIN}\n{table(cells, first, heads, name, refused, wrong)}\n{END}{after}", encoding="utf-8")
