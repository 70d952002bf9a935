# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""python -m dtrain._spawned: a rank of dtrain.spawn()."""
from dtrain._spawn import run_as_rank

if __name__ == "__main__":
    run_as_rank()
