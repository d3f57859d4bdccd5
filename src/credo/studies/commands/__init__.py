"""A trial as a program that is run: what it is given, and how its answer is read. Never through a shell.

`template`  the words of a command and their `{places}`
`answers`   numbers from the last line, or from a JSON file
`process`   one program: its lines, its time, its end
`runner`    trials as programs, several at once
`loop`      ask, run, tell, and when to give up
"""

from credo.studies.commands.answers import Answers, Bound
from credo.studies.commands.loop import FailingCommandError, run_commands
from credo.studies.commands.runner import CommandRunner
from credo.studies.commands.template import CommandTemplate

__all__ = [
    "Answers",
    "Bound",
    "CommandRunner",
    "CommandTemplate",
    "FailingCommandError",
    "run_commands",
]
