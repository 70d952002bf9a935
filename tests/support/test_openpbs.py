# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What tests/support/openpbs refuses before it writes anything. Oracle: the project's rule for bad input, one line and status 2."""
import pathlib
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).with_name("openpbs")


@pytest.mark.parametrize("words, complaint", [
    ([], "needs the folder of OpenPBS's source"),
    (["a", "b", "c"], "needs the folder of OpenPBS's source"),
    (["--prefix"], "unknown argument '--prefix'"),
    (["/source", "/opt/it's"], "PREFIX /opt/it's: "),
    (["/source", str(SCRIPT.parent)], "is in dtrain's own folder"),
    (["/source", "/tmp/openpbs"], "is below /tmp, where others may write"),
], ids=["nothing", "too much", "an option", "a quote", "here", "tmp"])
def test_wrong_words_are_refused(words, complaint):
    done = subprocess.run([SCRIPT, *words], capture_output=True, text=True)
    assert done.returncode == 2 and complaint in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == "" and not pathlib.Path("/tmp/openpbs").exists()


def test_a_folder_of_something_else_is_no_source(tmp_path):
    done = subprocess.run([SCRIPT, tmp_path, "/opt/dtrain-openpbs.of-a-test"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "is not OpenPBS's source" in done.stderr or "needs root" in done.stderr
    assert not pathlib.Path("/opt/dtrain-openpbs.of-a-test").exists()
