"""Studies remember: what was asked, what came of it, over crashes, machines and weeks.

`study`      `Study`: ask, tell, best; all it knows is a fold over events
`events`     what can happen, in order
`state`      the fold: events in, trials and space out
`trial`      one question and its answer
`samplers`   what to ask next: pure functions of the history
`storage`    where events are kept: memory, SQLite, PostgreSQL
`optimize`   the loop that asks, runs and tells
`runners`    trials in this thread, in threads, in processes
`leases`     whose trial is whose, and which worker is gone
`frame`      trials as a table
"""

from credo.studies.events import Event
from credo.studies.runners import Pruned
from credo.studies.samplers import History, Sampler, Suggestion
from credo.studies.storage import MemoryStorage, Storage, open_storage
from credo.studies.study import Study
from credo.studies.trial import Trial

__all__ = [
    "Study",
    "Trial",
    "Event",
    "Pruned",
    "Sampler",
    "History",
    "Suggestion",
    "Storage",
    "MemoryStorage",
    "open_storage",
]
