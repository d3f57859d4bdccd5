"""`Study`: questions to an expensive function, remembered."""

from __future__ import annotations

import contextlib
import math
import numbers
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self, overload

from credo.design.spaces import Space
from credo.errors import (
    CredoError,
    DataWarning,
    NumericalError,
    ParameterError,
    SpaceExhaustedError,
    UnavailableError,
    warn,
)
from credo.studies.guidance import Guidance
from credo.studies.leases import Watch, worker_identity
from credo.studies.optimize import optimize
from credo.studies.proposal import next_proposal
from credo.studies.pruning import Pruner, pruner_of, reason_to_prune
from credo.studies.samplers import Sampler, sampler_of
from credo.studies.state import StudyState
from credo.studies.storage import SlotTaken, Storage, open_storage
from credo.studies.trial import Trial
from credo.studies.values import (
    constraints_of,
    direction_of,
    number_of,
    seed_of,
    signs_of,
    step_of,
    trial_number,
    values_of,
)

__all__ = ["Study"]

# A proposal is made for one trial number, and made again if another worker takes that number first. Someone always
# gets it, so this many losses in a row mean that something else is wrong.
MOST_RACES = 1000


class Study(Guidance):
    """Minimise or maximise a function of a `Space` by asking for points and telling values.

    Parameters
    ----------
    space : what may be asked
    direction : "minimize" or "maximize"; for two objectives a pair, such as ("minimize", "maximize")
    storage : None for memory; a path of a SQLite file; a URL of PostgreSQL; see `open_storage`. A study of this name
        that is already there is resumed: many processes may work on it at once.
    random_state : seed of the proposals; kept in the storage. The proposal of trial i depends on the seed, i, and
        what was told and pending before.
    name : of the study within its storage
    sampler : "auto" (a design, then the model that suits the space), "gp", "forest", "trust", "sobol", "random", or a
        `Sampler`
    noisy : whether the same point may give another value; None lets the sampler find out. Unless True, no point is
        asked twice.
    pruner : None, "median", "halving" or a rule: who is given up by its intermediate values; see `report`
    lease : seconds without a sign of life after which a trial that `optimize` runs elsewhere is given up, asked again

    Raises
    ------
    ParameterError : the storage holds a study of this name with another space, direction, seed or noisy

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
        direction: str | tuple[str, str] = "minimize",
        storage: str | Path | Storage | None = None,
        random_state: Any = None,
        *,
        name: str = "study",
        sampler: str | Sampler = "auto",
        noisy: bool | None = None,
        pruner: str | Pruner | None = None,
        lease: float = 60.0,
    ) -> None:
        if not isinstance(space, Space):
            raise ParameterError("Study", "space", "a Space", space)
        self.direction = direction_of(direction)
        self._signs = signs_of(self.direction)
        if not isinstance(name, str) or not name:
            raise ParameterError("Study", "name", "a text that is not empty", name)
        if noisy not in (None, True, False):
            raise ParameterError("Study", "noisy", "True, False or None", noisy)
        if isinstance(lease, bool) or not isinstance(lease, numbers.Real) or not 0 < float(lease) < math.inf:
            raise ParameterError("Study", "lease", "seconds > 0", lease)
        self.name, self.lease = name, float(lease)
        self._sampler_name, self._sampler = sampler_of(sampler)
        pruner_name, self._pruner = pruner_of(pruner)
        if self._pruner is not None and len(self._signs) > 1:
            raise ParameterError("Study", "pruner", "None where there are two objectives", pruner)
        seed = None if random_state is None else seed_of(random_state)
        self.storage = open_storage(storage)
        self._lock = threading.RLock()
        self._watch = Watch()
        created = {
            "space": space.state(strict=False),
            "direction": self.direction,
            "seed": seed_of(None) if seed is None else seed,
            "sampler": self._sampler_name,
            "noisy": noisy,
            "pruner": pruner_name,
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
        self.seed = stored["seed"]
        self.noisy = stored["noisy"] if noisy is None else noisy
        self._state = StudyState(space)
        self.refresh()

    def _agree(self, stored: Mapping[str, Any], created: Mapping[str, Any], seed: int | None) -> None:
        """What cannot change in a study that exists."""
        remedy = f"The study {self.name!r} in {self.storage.name} has another: give a different name to start anew."
        if direction_of(stored["direction"]) != self.direction:
            raise ParameterError("Study", "direction", repr(stored["direction"]), self.direction, remedy)
        if stored["space"] != created["space"]:
            narrow = "The space given is the one the study began with; change it by narrow() and fix(). " + remedy
            raise ParameterError("Study", "space", "the stored study's", created["space"], narrow)
        if seed is not None and seed != stored["seed"]:
            raise ParameterError("Study", "random_state", f"None or {stored['seed']}", seed, remedy)
        if None not in (created["noisy"], stored["noisy"]) and created["noisy"] != stored["noisy"]:
            raise ParameterError("Study", "noisy", f"None or {stored['noisy']}", created["noisy"], remedy)

    @classmethod
    def load(cls, storage: str | Path | Storage, name: str = "study", **options: Any) -> Self:
        """A study that is in the storage, with the space it was made with; `ParameterError` if there is none.

        A sampler or rule of your own is not in the storage: give it again, or the study goes on with "auto", and None.
        A space with functions among its conditions or constraints is not data either: pass it to `Study` instead.
        """
        place = open_storage(storage)
        created = place.events(name)[0].data
        for option, of in (("sampler", sampler_of), ("pruner", pruner_of)):
            with contextlib.suppress(ParameterError):
                of(created.get(option))
                options.setdefault(option, created.get(option))
        return cls(Space.from_state(created["space"]), direction_of(created["direction"]), place, name=name, **options)

    # -- ask ---------------------------------------------------------------------------------------------------

    @overload
    def ask(self, n: None = None, *, lease: float | None = None, reap: bool = False) -> Trial: ...
    @overload
    def ask(self, n: int, *, lease: float | None = None, reap: bool = False) -> list[Trial]: ...
    def ask(self, n: int | None = None, *, lease: float | None = None, reap: bool = False) -> Trial | list[Trial]:
        """The next point to try, under a number that no other worker gets; with n, the next n of them as a list.

        A batch holds the points that as many calls would give, each chosen with those before it pending. It is shorter
        than n where a finite space has no more points.

        Without a lease the trial waits for its answer however long that takes, this process gone or not. With `lease`
        (seconds), and this process ended, another worker's `reap` gives it up. `reap=True` first does so to others'.

        Raises
        ------
        UnavailableError : every point of a finite space was tried, and the study is not stated to be noisy
        ParameterError : no point satisfies the constraints
        """
        if n is not None:
            return self._batch(n, lease, reap)
        trial = self._ask(lease, reap)
        assert trial is not None
        return trial

    def _batch(self, n: Any, lease: float | None, reap: bool) -> list[Trial]:
        if isinstance(n, bool) or not isinstance(n, numbers.Integral) or int(n) < 1:
            raise ParameterError("Study.ask", "n", "an integer ≥ 1, or None", n)
        found: list[Trial] = []
        try:
            for i in range(int(n)):
                found.append(self.ask(lease=lease, reap=reap and i == 0))
        except SpaceExhaustedError:
            if not found:
                raise
        except BaseException:  # the caller will not learn of those asked already
            for trial in found:
                with contextlib.suppress(CredoError):
                    self.release(trial, "the rest of the batch could not be asked")
            raise
        return found

    def _ask(self, lease: float | None, reap: bool, total: int | None = None) -> Trial | None:
        """`ask`; None if the study has, or will have when pending ones are told, `total` trials. That holds whoever
        else asks: their trial would take this one's number."""
        with self._lock:
            _ = self.reap() if reap else self.refresh()
            for _ in range(MOST_RACES):
                if total is not None and self._state.n_alive >= total:
                    return None
                trial, data = next_proposal(self._state, self._sampler, self._signs, self.seed, self.noisy)
                if lease is not None:
                    data |= {"lease": float(lease), "worker": worker_identity()}
                if self._claim(trial, data):
                    return self._state.trials[trial]
        raise _too_many_races()

    def _claim(self, trial: int, data: Mapping[str, Any]) -> bool:
        """Take the number of a trial; False, and up to date, if another worker was first."""
        try:
            self._append("asked", trial, data, slot=f"asked:{trial}")
        except SlotTaken:
            self.refresh()
            return False
        return True

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

    # -- tell --------------------------------------------------------------------------------------------------

    def tell(self, trial: Trial | int, value: Any, *, constraints: Any = None, quiet: bool = False) -> Trial:
        """The value of a trial: a number, or of two objectives a pair. NaN and infinity are failures: the trial is then
        `failed`, with a `DataWarning` unless `quiet`.

        constraints : numbers that come with the value, each met where ≤ 0 (a strain minus the strain allowed, say). As
            many for every trial of a study as for the first told. The best is sought among trials that meet all.

        Telling the same value again changes nothing; another value for a finished trial is a `ParameterError`. A trial
        that was given up (`stale`) may still be told.
        """
        kind, data = self._answer(value, constraints)
        if kind == "failed" and not quiet:
            warn(f"Trial {trial_number(trial)} was told that {data['reason']}: it counts as failed.", DataWarning)
        return self._finish(trial, kind, data)

    def _answer(self, value: Any, constraints: Any) -> tuple[str, dict[str, Any]]:
        """Kind and data of the event that tells this."""
        values, limits = values_of(value, len(self._signs)), constraints_of(constraints)
        for name, numbers_ in (("the value", values), ("a constraint", limits)):
            for number in numbers_:
                if not math.isfinite(number):
                    return "failed", {"reason": f"{name} is {number}"}
        known = self._state.n_constraints
        if known is not None and known != len(limits):
            remedy = "If that changed, begin a new study, and record() there what is known."
            raise ParameterError("Study", "constraints", f"{known} numbers, as for trials before", limits, remedy)
        data: dict[str, Any] = {"value": values[0]} if len(values) == 1 else {"values": list(values)}
        return "told", data | ({"constraints": list(limits)} if limits else {})

    def record(self, params: Mapping[str, Any], value: Any, *, constraints: Any = None) -> Trial:
        """A point that was tried outside the study, with its value."""
        point = self.space.check(params)
        self._answer(value, constraints)  # refused before the trial is there
        with self._lock:
            for _ in range(MOST_RACES):
                trial = self._state.next_id
                if self._claim(trial, {"params": point, "why": {"method": "recorded"}}):
                    return self.tell(trial, value, constraints=constraints)
        raise _too_many_races()

    def fail(self, trial: Trial | int, reason: str = "failed") -> Trial:
        """The trial crashed, or cannot be done: no value will come. The sampler avoids its neighbourhood a little."""
        return self._finish(trial, "failed", {"reason": str(reason)[:2000]})

    def prune(self, trial: Trial | int, value: Any = None, *, reason: str = "pruned") -> Trial:
        """The trial was given up because it did not promise; `value` is the last intermediate one. The sampler takes it
        for a value, no better than half of those told."""
        last = None if value is None else number_of(value)
        last = last if last is None or math.isfinite(last) else None
        return self._finish(trial, "pruned", {"reason": str(reason)[:2000], "value": last})

    def report(self, trial: Trial | int, step: int, value: Any) -> None:
        """An intermediate result, for the record and for `should_prune`. A step, ≥ 0, counts effort: epochs, rows."""
        trial_id = self._known(trial)
        number = number_of(value)
        number = number if math.isfinite(number) else None
        self._append("reported", trial_id, {"step": step_of(step), "value": number})

    def should_prune(self, trial: Trial | int) -> bool:
        """Whether the study's rule would give the trial up after its last `report`; `prune` is then yours to call."""
        return self._reason_to_prune(trial) is not None

    def _reason_to_prune(self, trial: Trial | int) -> str | None:
        with self._lock:
            known = self._state.trials[self._known(trial)]
            return reason_to_prune(self._pruner, known, self._state.trials.values(), self._signs[0])

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
                same = all(there.data.get(name) == data.get(name) for name in ("value", "values", "constraints"))
                if there.kind != kind or not same:
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

    # -- both, in a loop ---------------------------------------------------------------------------------------

    def optimize(
        self,
        f: Callable[..., Any],
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
        f : dict of parameters → what `tell` takes, or a mapping {"value": …, "constraints": …}. What it raises makes
            the trial failed, `Pruned` pruned. If it has a second argument `progress`, then ``progress(step, value)``
            reports an intermediate value, and raises `Pruned` where the study's rule gives the trial up.
        n_trials : trials of this call; total : of the study, over all workers and interruptions, so that the same
            script resumes where it was killed. Either or both.
        n_jobs : trials at once, −1 as many as processors; the sampler sees the pending ones
        backend : "threads", or "processes": a fresh process a trial, which may crash, and is killed by `timeout`
        timeout : seconds after which a trial has failed; a thread is left behind; a process, whose start does not
            count, is killed
        progress : called with every finished `Trial`

        Warns with a `DataWarning` if trials failed. Ctrl-C releases what was running. Ends early when every point of a
        finite space was tried.
        """
        optimize(self, f, n_trials, total, n_jobs, backend, timeout, progress)
        return self

    def __reduce__(self) -> Any:
        raise UnavailableError(
            f"A Study is not copied or pickled: {self.storage.name} holds it, and this is one of its workers.",
            remedy="Give it a storage, and open it there where it is wanted: Study.load(storage, name).",
        )

    def close(self) -> None:
        """Let go of the storage's files and connections; they open again when needed."""
        self.storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _too_many_races() -> NumericalError:
    return NumericalError(f"{MOST_RACES} other workers in a row took the number meant for this trial.")
