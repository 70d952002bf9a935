# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/hangs.md, of the results of runs; cells of which there is none stay as they are."""
import json
import re

import kinds
from whole_jobs import ROOT

BEGIN, END = "<!-- Of tests/hang_matrix/matrix -->", "<!-- End -->"
HEADS = {"native": "native job", "dtrain": "dtrain's communicator", "nccl": "NCCL stand-in", "mpi": "C++ with MPI", "mpi4py": "mpi4py",
         "torch_dtrain": "torch, dtrain", "torch_gloo": "torch, gloo", "gloo_stacks": "torch, gloo by stacks", "paddle": "Paddle, gloo",
         "paddle_stacks": "Paddle, gloo by stacks"}
CHINESE_HEADS = {**HEADS, "native": "原生作业", "dtrain": "dtrain 的通信器", "nccl": "NCCL 替身", "mpi": "C++ 与 MPI", "gloo_stacks": "torch，gloo，仅凭栈",
                 "paddle_stacks": "Paddle，gloo，仅凭栈"}
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


def rows_of(page_table):
    """By the first cell and the head of the column: its text."""
    heads, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page_table.strip().splitlines()]
    return {(row[0], head): text for row in rows for head, text in zip(heads[1:], row[1:])}


def text_of(run, before, refused, wrong):
    if run is None:
        return before
    if run["outcome"] == "right":
        return f"{max(run['seconds'], 0):.1f}"
    return refused if run["outcome"] == "refused" else wrong


def table(cells, before, first, heads, name, refused, wrong):
    lines = ["| " + " | ".join([first, *heads.values()]) + " |", "|---" * (1 + len(heads)) + "|"]
    rows = {kind.text: getattr(kind, name) for kind in kinds.KINDS}
    for text, shown in rows.items():
        row = [text_of(cells.get((text, column)), before.get((shown, head), ""), refused, wrong) for column, head in heads.items()]
        if any(row):
            lines.append("| " + " | ".join([shown, *row]) + " |")
    return "\n".join(re.sub(r"\|  \|", "| |", re.sub(r"\|  (?=\|)", "| ", line)) for line in lines)


def write(results):
    cells = cells_of(results)
    for page, (first, heads, name, refused, wrong) in PAGES.items():
        start, rest = page.read_text(encoding="utf-8").split(BEGIN)
        page_table, end = rest.split(END)
        new = table(cells, rows_of(page_table), first, heads, name, refused, wrong)
        page.write_text(f"{start}{BEGIN}\n{new}\n{END}{end}", encoding="utf-8")
