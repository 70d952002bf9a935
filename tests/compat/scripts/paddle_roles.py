# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What fleet takes its part in a parameter-server job to be. (Wheels of PyPI are built without the server itself.)"""
import json

import paddle
from paddle.distributed import fleet

paddle.enable_static()
fleet.init()
role = "server" if fleet.is_server() else "worker"
index = fleet.server_index() if fleet.is_server() else fleet.worker_index()
with open(f"seen.{role}.{index}.json", "w", encoding="utf-8") as out:
    json.dump({"servers": fleet.server_endpoints(), "workers": fleet.worker_num(), "first": fleet.is_first_worker()},
              out)
