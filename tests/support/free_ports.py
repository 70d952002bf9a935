# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports that nothing listens on, and that the kernel gives to nobody who asks for any port: another job of the tests may
do so between the moment a port is chosen here and the moment it is used.
"""
import contextlib
import pathlib
import random
import socket

LOWEST = 10240


def free_ports(count):
    lowest_of_any = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    choice = random.SystemRandom()
    with contextlib.ExitStack() as held:
        ports = []
        while len(ports) < count:
            port = choice.randrange(LOWEST, max(lowest_of_any, LOWEST + 1000))
            with contextlib.suppress(OSError):
                held.enter_context(socket.create_server(("", port)))
                ports.append(port)
        return ports
