# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""``python -m dtrain.run``: dtrain-run, torchrun's command line."""
from ._programs import run

if __name__ == "__main__":
    run()
