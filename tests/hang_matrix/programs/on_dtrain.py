# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
import play

play.before_start()

import dtrain  # noqa: E402  pylint: disable=wrong-import-position
import numpy  # noqa: E402  pylint: disable=wrong-import-position


class Ranks:
    def __init__(self):
        play.arrive()
        self.comm = dtrain.init()
        self.rank = self.comm.rank
        if self.rank > 0:
            self.groups = {"pair": self.comm.subset([1, 2]), "twin": self.comm.subset([1, 2], tag=1)}
        self.some, self.many = numpy.zeros(1000, "float32"), numpy.zeros(1 << 20, "float32")

    def sum(self, count=1000, type_name="float32"):
        self.comm.all_reduce(numpy.zeros(count, type_name))

    def broadcast(self, root=0):
        self.comm.broadcast(self.some, root)

    def reduce(self):
        self.comm.reduce(self.some)

    def all_gather(self):
        self.comm.all_gather(self.some)

    def barrier(self):
        self.comm.barrier()

    def barrier_of(self, group):
        self.groups[group].barrier()

    def make_group(self):
        self.comm.split(0)

    def receive(self, source):
        self.comm.receive(self.some, source, tag=7)

    def receive_from_any(self):
        self.comm.receive_any(self.some, tag=7)

    def send(self, to):
        self.comm.send(self.many, to, tag=7)

    def wait_for_request(self):
        self.comm.start_receive(self.some, 0, tag=7).wait()

    def alone(self):
        return {"waits_in_thread": self.wait_in_thread}

    def wait_in_thread(self):
        """Of two threads, the one that communicates waits, and the main one for that."""
        import threading  # pylint: disable=import-outside-toplevel
        thread = threading.Thread(target=self.receive, args=(0,))
        thread.start()
        thread.join()

    def others(self):
        return {}


play.play(Ranks())
