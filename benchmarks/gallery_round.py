"""How long a round of the gallery takes, in the server: from POST /api/answer to the next round's JSON.

    python -m benchmarks.gallery_round [--answers 200] [--rounds 40] [--people 1]

A simulated person with a known target answers the smoke demo's own proposals (eight parameters, four cards) until there
are so many answers; of other people each gives 30. Then `credo gallery` serves that storage in a process of its own,
and the first person goes on over HTTP. Printed are processor and wall seconds a round, median and 95 % quantile; the
processor's are those of the server's threads by /proc/PID/task/*/schedstat (Linux), so that a loaded machine does not
count. BLAS has one thread.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from credo.gallery.gallery import Gallery
from credo.gallery.settings import demo
from credo.studies import open_storage

# Answers of each of the others: as many as are read of them.
OTHERS = 30
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Simulated:
    """Likes what is near a hidden point, with probit noise of sd 1; the same for everybody but for a shift."""

    def __init__(self, space: Any, number: int) -> None:
        self._space, self._rng = space, np.random.default_rng([3, number])
        shared = 0.25 + 0.5 * np.random.default_rng(3).random(space.width)
        self._target = np.clip(shared + 0.1 * self._rng.standard_normal(space.width), 0.0, 1.0)

    def best(self, shown: list[Any]) -> int:
        apart = np.linalg.norm(self._space.encode(shown).X - self._target, axis=1)
        return int(np.argmax(-12.0 * apart + self._rng.standard_normal(len(shown))))


def prepared(path: Path, answers: int, people: int) -> tuple[str, Simulated]:
    """A storage in which so many answers were given; the first person, and who answers for them."""
    settings = demo("smoke")
    gallery = Gallery(settings.space, open_storage(path), seed=1, cards=settings.cards, title=settings.title)
    who = [(gallery.join(f"Person {i}"), Simulated(settings.space, i)) for i in range(people)]
    for n, (person, simulated) in reversed(list(enumerate(who))):
        for _ in range(OTHERS if n else answers):
            shown = gallery.round(person)
            best = simulated.best([dict(card.params) for card in shown.cards])
            gallery.answer(person, {"round": shown.id, "kind": "best", "chosen": shown.cards[best].id})
    gallery.close()
    return who[0]


@contextmanager
def served(path: Path) -> Iterator[tuple[int, str]]:
    """Process and address of `credo gallery` over the storage."""
    words = [sys.executable, "-m", "credo", "gallery", "--demo", "smoke", "--storage", str(path), "--port", "0"]
    server = subprocess.Popen(
        [*words, "--no-browser", "--json"], stdout=subprocess.PIPE, text=True, env={**os.environ, **ONE_THREAD}
    )
    try:
        assert server.stdout is not None
        yield server.pid, json.loads(_document(server.stdout))["address"]
    finally:
        server.terminate()
        server.wait()


def _document(lines: Any) -> str:
    """The JSON document that it prints once it answers."""
    text = ""
    for line in lines:
        text += line
        try:
            json.loads(text)
        except ValueError:
            continue
        return text
    raise RuntimeError("The gallery did not start.")


class Client:
    """What the page's script does."""

    def __init__(self, address: str, person: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc)
        status, headers, page = self._asked("GET", f"/s/{person}", {})
        assert status == 200, status
        csrf = re.findall(r'name="?csrf-token"? content="(\w+)"', page)[0]
        cookie = "; ".join(value.split(";")[0] for name, value in headers if name.lower() == "set-cookie")
        self._headers = {
            "Content-Type": "application/json", "X-CSRF-Token": csrf, "X-Session": person, "Cookie": cookie,
        }  # fmt: skip
        self.state = json.loads(self._asked("GET", "/api/state", self._headers)[2])

    def answer(self, best: int) -> None:
        shown = self.state["round"]
        sent = {"round": shown["id"], "kind": "best", "chosen": shown["cards"][best]["id"]}
        status, _, text = self._asked("POST", "/api/answer", self._headers, json.dumps(sent))
        assert status == 200, text
        self.state = json.loads(text)

    def _asked(self, method: str, path: str, headers: dict[str, str], body: str | None = None) -> tuple[Any, ...]:
        self._connection.request(method, path, body, headers)
        found = self._connection.getresponse()
        return found.status, found.getheaders(), found.read().decode()


def processor(pid: int) -> float:
    """Seconds that a process has spent on the processor, all its threads."""
    found = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += 1e-9 * int((task / "schedstat").read_text().split()[0])
    return found


def measured(answers: int, rounds: int, people: int) -> np.ndarray:
    """(rounds, 2): processor and wall seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "smoke.db"
        person, simulated = prepared(path, answers, people)
        found = []
        with served(path) as (pid, address):
            client = Client(address, person)
            for _ in range(rounds + 1):
                best = simulated.best([card["params"] for card in client.state["round"]["cards"]])
                start = processor(pid), time.perf_counter()
                client.answer(best)
                found.append((processor(pid) - start[0], time.perf_counter() - start[1]))
        assert client.state["answers"] == answers + rounds + 1
    return np.array(found[1:])  # the first loads what later ones use


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--people", type=int, default=1)
    chosen = parser.parse_args()
    seconds = 1e3 * measured(chosen.answers, chosen.rounds, chosen.people)
    for name, column in zip(("processor", "wall"), seconds.T, strict=True):
        middle, high = np.quantile(column, [0.5, 0.95])
        print(f"{name}: median {middle:.0f} ms, 95 % below {high:.0f} ms, longest {column.max():.0f} ms")


if __name__ == "__main__":
    os.environ.update(ONE_THREAD)
    main()
