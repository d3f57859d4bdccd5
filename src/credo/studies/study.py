"""`Study`: questions to an expensive function, remembered."""

from __future__ import annotations

import math
import numbers
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from credo.design.spaces import Space
from credo.errors import DataWarning, NumericalError, ParameterError, UnavailableError, warn
from credo.studies.events import Event
from credo.studies.frame import trials_frame
from credo.studies.leases import Watch, worker_identity
from credo.studies.optimize import optimize
from credo.studies.proposal import next_proposal
from credo.studies.samplers import Sampler, sampler_of
from credo.studies.state import StudyState
from credo.studies.storage import SlotTaken, Storage, open_storage
from credo.studies.trial import Trial
from credo.studies.values import number_of, plain_data, seed_of, trial_number

__all__ = ["Study"]

# A proposal is made for one trial number, and made again if another worker takes that number first. Someone always
# gets it, so this many losses in a row mean that something else is wrong.
MOST_RACES = 1000


class Study:
    """Minimise or maximise a function of a `Space` by asking for points and telling values.

    Parameters
    ----------
    space : what may be asked
    direction : "minimize" or "maximize"
    storage : None for memory; a path of a SQLite file; a URL of PostgreSQL; see `open_storage`. A study of this name
        that is already there is resumed: many processes may work on it at once.
    random_state : seed of the proposals; kept in the storage. The proposal of trial i depends on the seed, i, and
        what was told and pending before.
    name : of the study within its storage
    sampler : "auto" (a Sobol design, then Bayesian optimisation), "sobol", "random", or a `Sampler`
    noisy : whether the same point may give another value; None lets the sampler find out. Unless True, no point is
        asked twice.
    lease : seconds without a sign of life after which a trial that `optimize` runs elsewhere is given up, asked again

    Raises
    ------
    ParameterError : the storage holds a study of this name with another space, direction or seed

    Examples
    --------
    >>> import credo as cr
    >>> study = Study(cr.Space(x=cr.Real(0, 4), n=cr.Integer(1, 3)), sampler="sobol", random_state=0)
    >>> for _ in range(64):
    ...     trial = study.ask()
    ...     _ = study.tell(trial, (trial["x"] - 1) ** 2 + trial["n"])
    >>> study.best.params["n"], abs(study.best["x"] - 1) < 0.2
    (1, True)
    """

    def __init__(
        self,
        space: Space,
        direction: str = "minimize",
        storage: str | Path | Storage | None = None,
        random_state: Any = None,
        *,
        name: str = "study",
        sampler: str | Sampler = "auto",
        noisy: bool | None = None,
        lease: float = 60.0,
    ) -> None:
        if not isinstance(space, Space):
            raise ParameterError("Study", "space", "a Space", space)
        if direction not in ("minimize", "maximize"):
            raise ParameterError("Study", "direction", "'minimize' or 'maximize'", direction)
        if not isinstance(name, str) or not name:
            raise ParameterError("Study", "name", "a text that is not empty", name)
        if noisy not in (None, True, False):
            raise ParameterError("Study", "noisy", "True, False or None", noisy)
        if isinstance(lease, bool) or not isinstance(lease, numbers.Real) or not 0 < float(lease) < math.inf:
            raise ParameterError("Study", "lease", "seconds > 0", lease)
        self.name, self.lease = name, float(lease)
        self._sampler_name, self._sampler = sampler_of(sampler)
        seed = None if random_state is None else seed_of(random_state)
        self.storage = open_storage(storage)
        self._lock = threading.RLock()
        self._watch = Watch()
        created = {
            "space": space.state(strict=False),
            "direction": direction,
            "seed": seed_of(None) if seed is None else seed,
            "sampler": self._sampler_name,
            "noisy": noisy,
        }
        if self.storage.create(name, created):
            stored: Mapping[str, Any] = created
        else:
            stored = self.storage.events(name)[0].data
            try:
                self._agree(stored, created, seed)
            except ParameterError:
                if self.storage is not storage:
                    self.storage.close()
                raise
        self.direction: str = stored["direction"]
        self.seed: int = stored["seed"]
        self.noisy: bool | None = stored["noisy"]
        self._state = StudyState(space)
        self.refresh()

    def _agree(self, stored: Mapping[str, Any], created: Mapping[str, Any], seed: int | None) -> None:
        """What cannot change in a study that exists."""
        remedy = f"The study {self.name!r} in {self.storage.name} has another: give a different name to start anew."
        if stored["direction"] != created["direction"]:
            raise ParameterError("Study", "direction", repr(stored["direction"]), created["direction"], remedy)
        if stored["space"] != created["space"]:
            narrow = "The space given is the one the study began with; change it by narrow() and fix(). " + remedy
            raise ParameterError("Study", "space", "the stored study's", created["space"], narrow)
        if seed is not None and seed != stored["seed"]:
            raise ParameterError("Study", "random_state", f"None or {stored['seed']}", seed, remedy)

    @classmethod
    def load(cls, storage: str | Path | Storage, name: str = "study", **options: Any) -> Self:
        """A study that is in the storage, with the space it was made with; `ParameterError` if there is none.

        A space with functions among its conditions or constraints is not data: pass it to `Study` instead.
        """
        place = open_storage(storage)
        created = place.events(name)[0].data
        known = created["sampler"] if created["sampler"] in ("auto", "sobol", "random") else "auto"
        options = {"sampler": known, "noisy": created["noisy"]} | options
        return cls(Space.from_state(created["space"]), created["direction"], place, name=name, **options)

    # -- ask and tell ------------------------------------------------------------------------------------------

    def ask(self, *, lease: float | None = None, reap: bool = False) -> Trial:
        """The next point to try, under a number that no other worker gets.

        Without a lease the trial waits for its answer however long that takes, this process gone or not. With `lease`
        (seconds), and this process ended, another worker's `reap` gives it up. `reap=True` first does so to others'.

        Raises
        ------
        UnavailableError : every point of a finite space was tried, and the study is not stated to be noisy
        ParameterError : no point satisfies the constraints
        """
        trial = self._ask(lease, reap)
        assert trial is not None
        return trial

    def _ask(self, lease: float | None, reap: bool, total: int | None = None) -> Trial | None:
        """`ask`; None if the study has, or will have when pending ones are told, `total` trials. That holds whoever
        else asks: their trial would take this one's number."""
        with self._lock:
            _ = self.reap() if reap else self.refresh()
            for _ in range(MOST_RACES):
                if total is not None and self._state.n_alive >= total:
                    return None
                trial, data = next_proposal(self._state, self._sampler, self.direction, self.seed, self.noisy)
                if lease is not None:
                    data |= {"lease": float(lease), "worker": worker_identity()}
                if self._claim(trial, data):
                    return self._state.trials[trial]
        raise NumericalError(f"{MOST_RACES} other workers in a row took the number meant for this trial.")

    def _claim(self, trial: int, data: Mapping[str, Any]) -> bool:
        """Take the number of a trial; False, and up to date, if another worker was first."""
        try:
            self._append("asked", trial, data, slot=f"asked:{trial}")
        except SlotTaken:
            self.refresh()
            return False
        return True

    def tell(self, trial: Trial | int, value: Any, *, quiet: bool = False) -> Trial:
        """The value of a trial. NaN and infinity are failures: the trial is then `failed`, with a `DataWarning` unless
        `quiet`.

        Telling the same value again changes nothing; another value for a finished trial is a `ParameterError`. A trial
        that was given up (`stale`) may still be told.
        """
        number = number_of(value)
        if not math.isfinite(number):
            if not quiet:
                warn(f"Trial {trial_number(trial)} was told {number}: it counts as failed.", DataWarning)
            return self._finish(trial, "failed", {"reason": f"the value is {number}"})
        return self._finish(trial, "told", {"value": number})

    def fail(self, trial: Trial | int, reason: str = "failed") -> Trial:
        """The trial crashed, or cannot be done: no value will come. The sampler avoids its neighbourhood a little."""
        return self._finish(trial, "failed", {"reason": str(reason)[:2000]})

    def prune(self, trial: Trial | int, value: Any = None, *, reason: str = "pruned") -> Trial:
        """The trial was given up because it did not promise; `value` is the last intermediate one, for the record."""
        last = None if value is None else number_of(value)
        last = last if last is None or math.isfinite(last) else None
        return self._finish(trial, "pruned", {"reason": str(reason)[:2000], "value": last})

    def report(self, trial: Trial | int, step: int, value: Any) -> None:
        """An intermediate result, for the record."""
        trial_id = self._known(trial)
        number = number_of(value)
        number = number if math.isfinite(number) else None
        self._append("reported", trial_id, {"step": int(step), "value": number})

    def release(self, trial: Trial | int, reason: str = "released") -> None:
        """Give up a pending trial whose worker is gone: its point is asked again, and a late answer still counts."""
        trial_id = self._known(trial)
        with self._lock:
            try:
                self._append("stale", trial_id, {"reason": reason}, slot=f"stale:{trial_id}")
            except SlotTaken:
                self.refresh()

    def _finish(self, trial: Trial | int, kind: str, data: dict[str, Any]) -> Trial:
        trial_id = self._known(trial)
        with self._lock:
            try:
                self._append(kind, trial_id, data, slot=f"finished:{trial_id}")
            except SlotTaken as taken:
                self.refresh()
                there = taken.event
                if there.kind != kind or there.data.get("value") != data.get("value"):
                    raise ParameterError(
                        "Study", f"trial {trial_id}", f"unfinished (it was {there.kind}: {dict(there.data)})", data
                    ) from None
            return self._state.trials[trial_id]

    def _known(self, trial: Trial | int) -> int:
        trial_id = trial_number(trial)
        if trial_id not in self._state.trials:
            self.refresh()
        if trial_id not in self._state.trials:
            raise ParameterError("Study", "trial", "one that was asked", trial_id)
        return trial_id

    def _append(self, kind: str, trial: int | None, data: Mapping[str, Any], slot: str | None = None) -> Event:
        with self._lock:
            event = self.storage.append(self.name, kind, trial, data, slot)
            if event.sequence == self._state.sequence + 1:
                self._state.apply([event])
            else:
                self.refresh()
            return event

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Ask this point before any other: a guess, a default, a point of an earlier study."""
        self._append("queued", None, {"params": self.space.check(params)})

    def record(self, params: Mapping[str, Any], value: Any) -> Trial:
        """A point that was tried outside the study, with its value."""
        point = self.space.check(params)
        with self._lock:
            for _ in range(MOST_RACES):
                trial = self._state.next_id
                if self._claim(trial, {"params": point, "why": {"method": "recorded"}}):
                    return self.tell(trial, value)
        raise NumericalError(f"{MOST_RACES} other workers in a row took the number meant for this trial.")

    def optimize(
        self,
        f: Callable[[dict[str, Any]], Any],
        n_trials: int | None = None,
        *,
        total: int | None = None,
        n_jobs: int = 1,
        backend: str = "threads",
        timeout: float | None = None,
        progress: Callable[[Trial], Any] | None = None,
    ) -> Self:
        """Ask, call `f`, tell, until n_trials more were run here, or the study has `total` trials.

        Parameters
        ----------
        f : dict of parameters → number. What it raises makes the trial failed, `Pruned` pruned.
        n_trials : trials of this call; total : of the study, over all workers and interruptions, so that the same
            script resumes where it was killed. Either or both.
        n_jobs : trials at once; the sampler sees the pending ones
        backend : "threads", or "processes": a fresh process a trial, which may crash, and is killed by `timeout`
        timeout : seconds after which a trial has failed; a thread is left behind, a process killed
        progress : called with every finished `Trial`

        Warns with a `DataWarning` if trials failed. Ctrl-C releases what was running. Ends early when every point of a
        finite space was tried.
        """
        optimize(self, f, n_trials, total, n_jobs, backend, timeout, progress)
        return self

    # -- changes in mid-study ----------------------------------------------------------------------------------

    def narrow(self, ranges: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Ask only within smaller ranges from now on, in every worker; see `Space.narrowed`. What was told is kept."""
        ranges = {**(ranges or {}), **named}
        self.refresh()
        self.space.narrowed(ranges)
        self._append("narrowed", None, {"ranges": plain_data(ranges)})

    def fix(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Hold parameters at one value from now on, in every worker; see `Space.fixed`."""
        values = {**(values or {}), **named}
        self.refresh()
        self.space.fixed(values)
        self._append("narrowed", None, {"fixed": plain_data(values)})

    def note(self, text: str) -> None:
        """Keep a remark with the study."""
        self._append("note", None, {"text": str(text)})

    # -- what is known -----------------------------------------------------------------------------------------

    def refresh(self) -> Self:
        """Read what other workers have written since; `ask`, `tell` and the rest do so themselves."""
        with self._lock:
            self._state.apply(self.storage.events(self.name, self._state.sequence))
        return self

    def reap(self) -> list[Trial]:
        """Give up trials whose worker is gone, and return all trials."""
        with self._lock:
            self.refresh()
            pending = [trial for trial in self._state.trials.values() if trial.state == "pending" and trial.lease]
            if pending:
                own = worker_identity()
                mine = [trial.id for trial in pending if trial.worker == own]
                for trial, reason in self._watch.lost(pending, self.storage.beats(self.name), mine):
                    self.release(trial, reason)
            return list(self._state.trials.values())

    @property
    def space(self) -> Space:
        """The space as narrowed so far."""
        return self._state.space

    @property
    def records(self) -> list[Trial]:
        """All trials, by number."""
        return [self._state.trials[i] for i in range(self._state.next_id)]

    @property
    def pending(self) -> list[Trial]:
        """Trials that await an answer."""
        return [trial for trial in self.records if trial.state == "pending"]

    @property
    def notes(self) -> list[str]:
        """Remarks, in order."""
        return list(self._state.notes)

    @property
    def trials(self) -> Any:
        """All trials as a polars frame: id, state, value, parameters, reason."""
        return trials_frame(self.records, self.space.names)

    @property
    def best(self) -> Trial:
        """The trial with the best value told, the earliest of equals; `UnavailableError` before any was told."""
        told = [trial for trial in self.records if trial.value is not None and trial.state == "told"]
        if not told:
            raise UnavailableError(f"Study.best: none of {len(self.records)} trials has a value yet.")
        sign = 1.0 if self.direction == "minimize" else -1.0
        return min(told, key=lambda trial: sign * trial.value)  # type: ignore[operator]

    def events(self) -> list[Event]:
        """Everything that happened, in order."""
        return self.storage.events(self.name)

    def close(self) -> None:
        """Let go of the storage's files and connections; they open again when needed."""
        self.storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        states = [trial.state for trial in self._state.trials.values()]
        counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)) or "no trials"
        return f"Study({self.name!r} in {self.storage.name}, {self.direction}, {counts})"
