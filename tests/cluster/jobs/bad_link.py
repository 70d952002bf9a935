# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A bad line between two network interfaces: it loses frames, and delivers the others late or slowly.

    bad_link.py A B [--loss PERCENT] [--delay MS] [--rate KBIT]

Forwards Ethernet frames from A to B and from B to A until it is killed; prints "up" when it does. The kernel's netem does
the same, where there is one. Both interfaces and whoever sends into them must make whole frames: `bad_link.py --whole A...`
takes offloads from interfaces (segmentation, checksums), so that nothing is larger than a frame on the wire.
"""
import argparse
import collections
import ctypes
import fcntl
import os
import random
import select
import socket
import struct
import sys
import time

ETH_P_ALL = 3
PACKET_IGNORE_OUTGOING = 23
SOL_PACKET = 263
SIOCETHTOOL = 0x8946
SET_TX_CHECKSUM, SET_TSO, SET_GSO, SET_GRO = 0x17, 0x1F, 0x24, 0x2C
FRAME = 65536
# As routers have buffers: what waits longer than this for the line is thrown away.
LONGEST_WAIT = 2.0


def make_whole(interface):
    with socket.socket() as any_socket:
        for command in (SET_TSO, SET_GSO, SET_GRO, SET_TX_CHECKSUM):
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
            try:
                fcntl.ioctl(any_socket, SIOCETHTOOL, request)
            except OSError as error:
                sys.exit(f"{interface}: offload {command:#x} stays on: {error}")


def packets_of(interface):
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    packets.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    packets.bind((interface, ETH_P_ALL))
    packets.setblocking(False)
    return packets


class Direction:
    """Frames under way from one interface to the other, in order."""

    def __init__(self, source, target, options):
        self.source, self.target, self.options = source, target, options
        self.under_way = collections.deque()  # (when it arrives, frame)
        self.line_free_at = 0.0

    def take(self, now):
        while True:
            try:
                frame = self.source.recv(FRAME)
            except BlockingIOError:
                return
            if random.random() * 100 < self.options.loss:
                continue
            sent = max(now, self.line_free_at)
            if sent - now > LONGEST_WAIT:
                continue
            if self.options.rate:
                sent += len(frame) * 8 / (self.options.rate * 1000)
            self.line_free_at = sent
            self.under_way.append((sent + self.options.delay / 1000, frame))

    def deliver(self, now):
        while self.under_way and self.under_way[0][0] <= now:
            try:
                self.target.send(self.under_way.popleft()[1])
            except OSError:
                pass  # an interface that is down loses it

    def next_arrival(self):
        return self.under_way[0][0] if self.under_way else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("interfaces", nargs="+")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--loss", type=float, default=0)
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    if options.whole:
        for interface in options.interfaces:
            make_whole(interface)
        return
    random.seed(options.seed)
    one, other = map(packets_of, options.interfaces)
    directions = [Direction(one, other, options), Direction(other, one, options)]
    poll = select.poll()
    for packets in (one, other):
        poll.register(packets, select.POLLIN)
    os.write(1, b"up\n")
    while True:
        arrivals = [at for at in (direction.next_arrival() for direction in directions) if at is not None]
        poll.poll(max(0.0, min(arrivals) - time.monotonic()) * 1000 if arrivals else None)
        now = time.monotonic()
        for direction in directions:
            direction.take(now)
            direction.deliver(now)


if __name__ == "__main__":
    main()
