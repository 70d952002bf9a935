# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
import play

play.before_start()

import numpy  # noqa: E402  pylint: disable=wrong-import-position

play.arrive()

from mpi4py import MPI  # noqa: E402  pylint: disable=wrong-import-position

import blocked  # noqa: E402  pylint: disable=wrong-import-position


class Ranks:
    def __init__(self):
        self.comm = MPI.COMM_WORLD
        self.rank = self.comm.rank
        pair = self.comm.Split(min(self.rank, 1))
        self.groups = {"pair": pair, "twin": pair.Dup()}
        self.some = numpy.zeros(1000, "float32")
        # Over TCP Open MPI has no windows in programs with threads.
        if play.kind in ("does_not_fence", "keeps_window_lock"):
            self.window = MPI.Win.Create(numpy.zeros(8), comm=self.comm)
        self.file = MPI.File.Open(self.comm, "shared", MPI.MODE_CREATE | MPI.MODE_RDWR)

    def sum(self, count=1000, type_name="float32"):
        self.comm.Allreduce(numpy.zeros(count, type_name), numpy.zeros(count, type_name))

    def broadcast(self, root=0):
        self.comm.Bcast(self.some, root)

    def reduce(self):
        self.comm.Reduce(self.some, numpy.zeros(1000, "float32"))

    def all_gather(self):
        self.comm.Allgather(self.some, numpy.zeros(3000, "float32"))

    def barrier(self):
        self.comm.Barrier()

    def barrier_of(self, group):
        self.groups[group].Barrier()

    def make_group(self):
        self.comm.Dup()

    def receive(self, source):
        self.comm.Recv(self.some, source, tag=7)

    def receive_from_any(self):
        self.comm.Recv(self.some, MPI.ANY_SOURCE, tag=7)

    def send(self, to):
        self.comm.Ssend(self.some, to, tag=7)

    def wait_for_request(self):
        self.comm.Irecv(self.some, 0, tag=7).Wait()

    def alone(self):
        return {"probes": self.probe, "does_not_start": self.do_not_start, "does_not_fence": self.do_not_fence,
                "keeps_window_lock": self.keep_window_lock, "does_not_write": blocked.sleeps, "polls": self.poll,
                "ends_not": self.end_not}

    def others(self):
        return {"does_not_start": self.wait_for_started, "does_not_fence": self.fence, "keeps_window_lock": self.lock_window,
                "does_not_write": self.write, "ends_not": MPI.Finalize}

    def probe(self):
        self.comm.Probe(0, tag=7)

    def poll(self):
        while not self.comm.Iprobe(0, tag=7):
            pass

    def do_not_start(self):
        """A persistent request: the one that rank 1 waits for."""
        self.comm.Send_init(self.some, 1, tag=7)
        blocked.sleeps()

    def wait_for_started(self):
        if self.rank == 1:
            self.comm.Recv(self.some, 2, tag=7)

    def do_not_fence(self):
        blocked.sleeps()

    def fence(self):
        self.window.Fence()

    def keep_window_lock(self):
        self.window.Lock(0)
        self.window.Put(numpy.zeros(8), 0)
        self.window.Flush(0)
        open("locked", "w", encoding="ascii").close()
        blocked.sleeps()

    def lock_window(self):
        import os  # pylint: disable=import-outside-toplevel
        while not os.path.exists("locked"):
            pass
        if self.rank == 1:
            self.window.Lock(0)
            self.window.Put(numpy.zeros(8), 0)
            self.window.Unlock(0)

    def write(self):
        self.file.Write_at_all(self.rank * 4000, self.some)

    def end_not(self):
        blocked.sleeps()


play.play(Ranks())
