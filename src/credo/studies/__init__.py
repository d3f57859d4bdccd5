"""Studies remember: what was asked, what came of it, over crashes, machines and weeks.

`study`      `Study`: ask, tell; all it knows is a fold over events
`view`       what a study knows: trials, the best, the front
`guidance`   what a person tells it: guesses, narrower ranges, remarks
`events`     what can happen, in order
`state`      the fold: events in, trials, guesses and space out
`trial`      one question and its answer
`proposal`   the next trial as a function of the events; `history` what a sampler sees of them
`samplers`   what to ask next: pure functions of the history
`recommendation`  the trial to take, of noisy ones by a belief
`pruning`    rules that give up a trial by its intermediate values
`storage`    where events are kept: memory, SQLite, PostgreSQL
`optimize`   the loop that asks, runs and tells
`objective`  what a call of the objective comes to; `runners` calls in this thread, in threads, in processes
`leases`     whose trial is whose, and which worker is gone
`commands`   trials as programs: words, answers, processes
`search`     `CredoSearchCV`
`guesses`, `values`, `frame`  arguments; trials as a table
"""

from typing import TYPE_CHECKING

from credo._lazy import lazily
from credo.errors import SpaceExhaustedError
from credo.studies.events import Event
from credo.studies.objective import Pruned
from credo.studies.pruning import HalvingRule, MedianRule, Pruner
from credo.studies.recommendation import Recommendation
from credo.studies.samplers import History, Sampler, Suggestion
from credo.studies.samplers.base import Guess
from credo.studies.storage import MemoryStorage, Storage, open_storage
from credo.studies.study import Study
from credo.studies.trial import Trial

if TYPE_CHECKING:
    from credo.studies.samplers.gp import GPSampler

__all__ = [
    "Study",
    "Trial",
    "Event",
    "Pruned",
    "Pruner",
    "MedianRule",
    "HalvingRule",
    "Recommendation",
    "SpaceExhaustedError",
    "Sampler",
    "History",
    "Guess",
    "Suggestion",
    "GPSampler",
    "Storage",
    "MemoryStorage",
    "open_storage",
]

# A Gaussian process takes a second to import, which studies without one need not pay.
__getattr__ = lazily("credo.studies", {"GPSampler": "samplers.gp"})
