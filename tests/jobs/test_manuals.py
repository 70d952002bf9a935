# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completion scripts, as they are installed.

Oracle: --help of the programs, whose options all have to be there; the readers of manual pages, which must not complain;
bash and zsh, which complete words with the scripts.
"""

import os
import pty
import re
import shutil
import subprocess
import time

import pytest

PROGRAMS = ["dtrain-launch", "dtrain-run", "dtrain-worker"]
EVERY_NAME = [*PROGRAMS, "fleetrun"]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, timeout=120, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **options)


def page(prefix, program):
    return prefix / "share/man/man1" / f"{program}.1"


@pytest.fixture(scope="session")
def options(prefix):
    """Of a program: what its --help names, and that of the job which dtrain-worker becomes."""
    def of(program):
        helps = [run(prefix / "bin" / program, *words).stdout for words in
                 ([["--help"], ["job.toml", "--help"]] if program == "dtrain-worker" else [["--help"]])]
        names = {name for text in helps for line in text.splitlines() if re.match(r"\s+-", line)
                 for name in re.findall(r"(?<![\w-])--[a-zA-Z][\w-]*", line[:60].split("  ")[1])}
        assert len(names) > 15, helps
        return names
    return of


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_page_has_every_option(prefix, program, options):
    text = page(prefix, program).read_text().replace("\\-", "-")
    assert options(program) <= set(re.findall(r"\\fB(--[\w-]+)\\fR", text))
    assert f"dtrain {run(prefix / 'bin' / program, '--version').stdout.split()[1]}" in text.splitlines()[0]


@pytest.mark.parametrize("program", EVERY_NAME)
def test_man_formats_the_page_without_a_warning(prefix, program):
    if shutil.which("man") is None or shutil.which("groff") is None:
        pytest.skip("man and groff are not installed (Debian: man-db, groff-base)")
    shown = run("man", "--warnings", "-l", page(prefix, program), env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
    assert (shown.returncode, shown.stderr) == (0, "")
    assert re.search(rf"^NAME\n +.*{program}", shown.stdout, re.M)


@pytest.mark.parametrize("program", EVERY_NAME)
def test_mandoc_has_nothing_to_say_about_the_page(prefix, program):
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    # A page without a date is the same whenever it is made.
    warnings = [line for line in run("mandoc", "-T", "lint", "-W", "warning", page(prefix, program)).stdout.splitlines()
                if "missing date" not in line]
    assert warnings == []


def test_pages_name_each_other(prefix):
    assert "\\fBdtrain\\-worker\\fR(1)" in page(prefix, "dtrain-launch").read_text()
    assert "\\fBdtrain\\-launch\\fR(1)" in page(prefix, "dtrain-worker").read_text()
    assert page(prefix, "fleetrun").read_text() == page(prefix, "dtrain-launch").read_text()


def bash_offers(prefix, folder, *words):
    """What bash offers for the last of these words, with the script that it finds under the first one's name."""
    script = prefix / "share/bash-completion/completions" / words[0]
    function = run("bash", "-c", f'. "{script}"; complete -p {words[0]}').stdout.split()[-2]
    quoted = " ".join(f"'{word}'" for word in words)
    done = run("bash", "-c", f'. "{script}"; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; {function}; printf "%s\\n" "${{COMPREPLY[@]}}"',
               cwd=folder)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize("program", EVERY_NAME)
def test_bash_offers_every_option(prefix, program, options, tmp_path):
    assert options(program) <= bash_offers(prefix, tmp_path, program, "--")


@pytest.mark.parametrize(("words", "offered"), [
    (["fleetrun", "--nproc_per"], {"--nproc_per_node"}),
    (["fleetrun", "sub"], {"submit"}),
    (["dtrain-launch", "--run_mode", "ps"], {"ps", "ps-heter"}),
    (["dtrain-launch", "--run_mode", "=", "ps"], {"ps", "ps-heter"}),
    (["dtrain-launch", "--dry-run", "tr"], {"train.py"}),
    (["dtrain-worker", "--bind", ""], {"auto", "none"}),
    (["dtrain-worker", "--bind", "="], {"auto", "none"}),
    (["dtrain-worker", "--info", "=", "j"], {"json"}),
    (["dtrain-worker", "--info", ""], {"job.toml", "train.py", "folder"}),
    (["dtrain-worker", "job.toml", "--res"], {"--resume"}),
    (["dtrain-worker", "job.toml", "--checkpoint-dir", "fo"], {"folder"}),
    (["dtrain-worker", "job.toml", "--epochs", ""], set()),
    (["dtrain-worker", "--", "gro"], {"groups"}),
    (["dtrain-worker", "--", "groups", "--b"], set()),
    (["dtrain-worker", "--", "cat", "tr"], {"train.py"}),
])
def test_bash_completes(prefix, tmp_path, words, offered):
    (tmp_path / "folder").mkdir()
    for name in ("job.toml", "train.py"):
        (tmp_path / name).touch()
    found = bash_offers(prefix, tmp_path, *words)
    assert found == offered if words[-1] != "gro" else offered <= found


@pytest.fixture(scope="session")
def zsh_makes(prefix, tmp_path_factory):
    """What stands on zsh's command line after Tab was pressed behind the given one."""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")

    def makes(line):
        folder = tmp_path_factory.mktemp("zsh")
        (folder / "job.toml").touch()
        (folder / "train.py").touch()
        (folder / "begin").write_text(f"""
fpath=({str(prefix / 'share/zsh/site-functions')!r} $fpath)
autoload -U compinit; compinit -u -D
show() {{ print -r -- "$BUFFER" > {folder}/made.part; mv {folder}/made.part {folder}/made }}
zle -N show
bindkey '^I' complete-word; bindkey '^Xq' show
cd {folder}
touch begun
""")
        controller, terminal = pty.openpty()
        shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
                                 env={"PATH": f"{prefix / 'bin'}:/usr/bin:/bin", "TERM": "vt100", "HOME": str(folder)})
        os.close(terminal)

        def type_and_wait(text, file):
            os.write(controller, text.encode())
            limit = time.monotonic() + 60
            while not (folder / file).exists():
                assert shell.poll() is None and time.monotonic() < limit, f"no {file} for {line}"
                time.sleep(0.05)
        try:
            type_and_wait(f". {folder}/begin\n", "begun")
            type_and_wait(f"{line}\t\x18q", "made")
        finally:
            os.close(controller)
            shell.kill()
            shell.wait()
        return (folder / "made").read_text().rstrip("\n")
    return makes


@pytest.mark.parametrize(("line", "made"), [
    ("dtrain-launch --nproc_per", "dtrain-launch --nproc_per_node="),
    ("fleetrun --nproc_per", "fleetrun --nproc_per_node="),
    ("fleetrun --run_mode=coll", "fleetrun --run_mode=collective"),
    ("fleetrun subm", "fleetrun submit"),
    ("fleetrun --dry-run tra", "fleetrun --dry-run train.py"),
    ("dtrain-worker --print-m", "dtrain-worker --print-man"),
    ("dtrain-worker --bind=a", "dtrain-worker --bind=auto"),
    ("dtrain-worker jo", "dtrain-worker job.toml"),
    ("dtrain-worker job.toml --prof", "dtrain-worker job.toml --profile"),
    ("dtrain-worker -- dtrain-la", "dtrain-worker -- dtrain-launch"),
])
def test_zsh_completes_at_the_first_tab(zsh_makes, line, made):
    assert zsh_makes(line).strip() == made
