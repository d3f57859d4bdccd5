"""Where events are kept.

`base`      `Storage`, the protocol; `SlotTaken`
`memory`    `MemoryStorage`: this process only
`sql`       SQLite and PostgreSQL through SQLAlchemy
`schema`    the tables, their version and migrations
`failures`  what the database says → errors of Credo's
`opening`   path, URL or object → storage
"""

from credo.studies.storage.base import SlotTaken, Storage
from credo.studies.storage.memory import MemoryStorage
from credo.studies.storage.opening import open_storage

__all__ = ["Storage", "SlotTaken", "MemoryStorage", "open_storage"]
