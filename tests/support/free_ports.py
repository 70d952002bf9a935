# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports that nothing listens on, and that the kernel gives to nobody who asks for any port: another job of the tests may
do so between the moment a port is chosen here and the moment it is used. Each process of pytest has ports of its own.
"""
import contextlib
import os
import pathlib
import random
import socket

LOWEST = 30000  # those below are of jobs without dtrain-launch, by a hash of their number
PROCESSES = 8


def free_ports(count):
    lowest_of_any = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % PROCESSES
    own = range(LOWEST + process, max(lowest_of_any, LOWEST + 1000), PROCESSES)
    choice = random.SystemRandom()
    with contextlib.ExitStack() as held:
        ports = []
        while len(ports) < count:
            port = choice.choice(own)
            with contextlib.suppress(OSError):
                held.enter_context(socket.create_server(("", port)))
                ports.append(port)
        return ports
