"""A second backend, for the tests: partitions in processes of their own, whose results are added in a fixed order.

It shows that a fit needs nothing of a backend but the contract (`supertopic.backends.base`): whatever a local step does
to its partition stays in that partition's process, and only statistics come back.
"""

import multiprocessing
import traceback

from supertopic.backends.threads import Threads


def serve(connection):
    """The life of a worker: take partitions, run functions on them, send results."""
    partitions = {}
    with Threads(1) as backend:
        while True:
            what, *message = connection.recv()
            if what == "stop":
                return
            try:
                if what == "take":
                    number, partitions[number] = message
                    answer = None
                elif what == "drop":
                    answer = partitions.pop(message[0], None) is None
                else:
                    number, function, shared = message
                    answer = function(partitions[number], backend, *shared)
                connection.send((True, answer))
            except Exception:
                connection.send((False, traceback.format_exc()))


class Processes(Threads):
    """`n_parts` partitions in as many processes; what belongs to no document is done here."""

    def __init__(self, n_parts=3):
        super().__init__(1)
        context = multiprocessing.get_context("spawn")
        self._workers, self._n_spreads, self.n_calls = [], 0, 0
        for _ in range(n_parts):
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs,), daemon=True)
            process.start()
            self._workers.append((process, ours))

    def stop(self):
        for process, connection in self._workers:
            connection.send(("stop",))
            process.join(timeout=10)

    def spread(self, documents):
        self._n_spreads += 1
        spread = ProcessSpread(self, self._n_spreads)
        spread.ask([("take", spread.number, part) for part in documents.split(len(self._workers))])
        return spread


class ProcessSpread:
    def __init__(self, backend, number):
        self.backend, self.number = backend, number

    def ask(self, messages):
        """One message to each worker, all at work at once; the answers in the workers' order."""
        connections = [connection for _, connection in self.backend._workers]
        for connection, message in zip(connections, messages, strict=True):
            connection.send(message)
        answers = [connection.recv() for connection in connections]
        for fine, answer in answers:
            assert fine, answer
        return [answer for _, answer in answers]

    def map(self, function, *shared):
        self.backend.n_calls += 1
        return self.ask([("run", self.number, function, shared)] * len(self.backend._workers))

    def __del__(self):
        self.ask([("drop", self.number)] * len(self.backend._workers))
