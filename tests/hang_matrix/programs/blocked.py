# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Ways in which a process of Python stops that have nothing to do with communication. blocked.NAME() does not return.

The folder in which it runs is the cell's own: what the harness (cell.py) prepares for a kind is there."""
import ctypes
import fcntl
import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import threading
import time


def begin():
    """Tells the harness which process hangs from now on."""
    new = pathlib.Path(f"new.{os.getpid()}")
    new.write_text(f"{time.time()}")
    new.rename(f"began.{os.getpid()}")


def sleeps():
    time.sleep(1000)


def computes():
    number = 1
    while True:
        number = number * 3 % 1000003


def is_stopped():
    os.kill(os.getpid(), signal.SIGSTOP)


def works_until_held():
    """The harness stops it from outside."""
    while True:
        time.sleep(0.01)


def lock():
    first, second = threading.Lock(), threading.Lock()
    second.acquire()

    def other_thread():
        with first:
            second.acquire()

    threading.Thread(target=other_thread, daemon=True).start()
    while not first.locked():
        time.sleep(0.001)
    first.acquire()


def pipe():
    os.read(os.pipe()[0], 1)


def server():
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_connection(silent.getsockname()) as connection:
        connection.recv(1)


def file_lock():
    with open("lock", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def child():
    subprocess.run([sys.executable, "-S", "-c", "import os; os.read(os.pipe()[0], 1)"], check=False)


def compiler():
    """One that does not come to an end."""
    subprocess.run([sys.executable, "-S", "-c", "while True: pass"], check=False)


def fork_with_lock():
    """A forked process has the lock, and nobody who would release it."""
    own = threading.Lock()
    with own:
        pid = os.fork()
        if pid == 0:
            own.acquire()
        os.waitpid(pid, 0)


def evaluate():
    time.sleep(1000)


def save_checkpoint():
    """Into a pipe that nobody reads."""
    with open("fifo", "wb") as file:
        file.write(b"weights")


def write_to_frozen_disk():
    with open("disk/checkpoint", "wb", buffering=0) as file:
        subprocess.run(["fsfreeze", "-f", "disk"], check=True)
        pathlib.Path("frozen").touch()
        file.write(b"weights")


def next_batch():
    batches = queue.Queue()
    threading.Thread(target=os.read, args=(os.pipe()[0], 1), daemon=True).start()
    batches.get()


def handler():
    signal.signal(signal.SIGUSR1, lambda *_: time.sleep(1000))
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(1)


def flag():
    """Of another thread, that never sets it."""
    done = []
    while not done:
        os.sched_yield()


def interpreter_lock():
    ctypes.PyDLL(None).sleep(1000)
