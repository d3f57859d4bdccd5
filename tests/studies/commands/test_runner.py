"""Trials as programs: what they are given, how they end."""

import json
import os
import sys
import time

import pytest

from credo.studies.commands import Answers, CommandRunner, CommandTemplate
from credo.studies.commands.process import Process

PYTHON = [sys.executable, "-I", "-S", "-c"]


def runner(code, *arguments, answers=None, special=("trial", "params"), **options):
    template = CommandTemplate([*PYTHON, code.replace("{", "{{").replace("}", "}}"), *arguments], ["x"], [], special)
    return CommandRunner(template, answers or Answers(), **options)


def outcome(made, params=None, trial=3):
    made.start(trial, params or {"x": 0.5})
    ((number, found),) = made.finished(20.0)
    assert number == trial
    return found


def test_the_last_line_counts():
    found = outcome(runner("import sys; print('epoch', 1); print(float(sys.argv[1]) * 2); print()", "{x}"))
    assert (found.kind, found.value) == ("told", 1.0)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('done')", "its last line is 'done', not a number"),
        ("pass", "it printed nothing"),
        ("print(1); raise SystemExit(3)", "exit code 3"),
        ("raise ValueError('too hot')", "exit code 1: ValueError: too hot"),
        ("import os; os.kill(os.getpid(), 11)", "killed by SIGSEGV"),
    ],
)
def test_failures(code, reason):
    made = runner(code)
    found = outcome(made)
    assert (found.kind, found.reason) == ("failed", reason)
    assert made.failures[0].reason == reason


def test_what_a_failure_said_is_kept():
    made = runner("import sys; print('on stdout')\nfor i in range(50): print('line', i, file=sys.stderr)\nsys.exit(1)")
    outcome(made)
    assert made.failures[0].lines[-1] == "line 49"
    assert len(made.failures[0].lines) == 20
    made = runner("print('only here'); raise SystemExit(1)")
    outcome(made)
    assert made.failures[0].lines == ["only here"]


def test_programs_that_cannot_be_run(tmp_path):
    for word in (str(tmp_path / "absent"), str(tmp_path), "a\0b"):
        found = outcome(CommandRunner(CommandTemplate([word, "{x}"], ["x"]), Answers()))
        assert found.kind == "failed"
        assert "cannot be run" in found.reason


def test_time_up_ends_what_it_started_too(tmp_path):
    child = f"import time, pathlib; time.sleep(1.5); pathlib.Path({str(tmp_path / 'late')!r}).touch()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {child!r}])"
    begin = time.monotonic()
    found = outcome(runner(code, timeout=0.3))
    assert (found.kind, found.reason) == ("failed", "no answer after 0.3 s")
    assert time.monotonic() - begin < 1.4
    time.sleep(max(0.0, begin + 1.9 - time.monotonic()))
    assert not (tmp_path / "late").exists()


def test_what_ignores_the_request_is_ended(monkeypatch):
    monkeypatch.setattr("credo.studies.commands.process.GRACE", 0.2)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); time.sleep(60)"
    process = Process([*PYTHON, code])
    lines = process.lines()
    assert next(lines) == "on"
    process.end()
    assert list(lines) == []
    assert process.failure == "killed by SIGKILL"


def test_a_server_left_behind_does_not_hold_up_the_answer():
    child = "import time; time.sleep(4)"
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', {child!r}]); print(7)"
    begin = time.monotonic()
    assert outcome(runner(code)).value == 7.0
    assert time.monotonic() - begin < 3.0


def test_awkward_output():
    code = (
        "import sys; out = sys.stdout.buffer; out.write(b'\\xff\\xfe progress 1%\\rprogress 2%\\r')\n"
        "out.write(b'x' * 3000000 + b'\\n0.5'); sys.stderr.buffer.write(b'\\xff')"
    )
    assert outcome(runner(code)).value == 0.5


def test_environment_folder_and_value_file(tmp_path):
    code = (
        "import json, os, sys; e = os.environ; print(os.getcwd()); print('warned', file=sys.stderr)\n"
        "json.dump({'x': json.loads(e['CREDO_PARAMS'])['x'], 't': int(e['CREDO_TRIAL']), 's': len(e['CREDO_STUDY']),"
        " 'same': int(sys.argv[1] == e['CREDO_DIR'] and sys.argv[2] == e['CREDO_VALUE_FILE'])},"
        " open(e['CREDO_VALUE_FILE'], 'w'))"
    )
    special = ("trial", "params", "dir", "value_file")
    for inside in (False, True):
        made = runner(
            code, "{dir}", "{value_file}", answers=Answers(1, ["x"]), special=special, study="abc",
            value_file="out-{trial}.json", folder=tmp_path / "runs", inside=inside,
        )  # fmt: skip
        assert outcome(made).value == 0.5
        own = tmp_path / "runs" / "0003"
        assert {path.name for path in own.iterdir()} == {"out-3.json", "params.json", "stdout.txt", "stderr.txt"}
        assert json.loads((own / "out-3.json").read_text()) == {"x": 0.5, "t": 3, "s": 3, "same": 1}
        assert json.loads((own / "params.json").read_text()) == {"x": 0.5}
        assert (own / "stderr.txt").read_text() == "warned\n"
        assert (own / "stdout.txt").read_text().strip() == str(own if inside else os.getcwd())


def test_an_old_value_file_is_no_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out.json").write_text("0.25")
    found = outcome(runner("pass", value_file="out.json"))
    assert found.kind == "failed"
    assert "did not write" in found.reason
    assert (tmp_path / "out.json").read_text() == "0.25"  # whatever it is, it is not ours to remove
    assert outcome(runner("open('out.json', 'w').write('0.5')", value_file="out.json")).value == 0.5


def test_intermediate_results():
    code = "import time; print('1 0.9'); print('2, 8e-1'); print('x 3 0.7'); print('3 nan', flush=True); time.sleep({})"
    heard = []
    made = runner(code.format(0), reports=True)
    made.report = lambda *given: heard.append(given)
    found = outcome(made)
    assert heard[:2] == [(3, 1, 0.9), (3, 2, 0.8)]
    assert heard[2][1] == 3
    assert found.kind == "failed"  # its last other line is no number
    assert outcome(runner("print('1 0.9'); print('2 0.8')", reports=True)).value == 0.8
    assert outcome(runner("print('1 0.9'); print(0.7); print('2 0.8')", reports=True)).value == 0.7
    made = runner(code.format(60), reports=True)
    made.report = lambda trial, step, value: "no promise" if step == 2 else None
    begin = time.monotonic()
    found = outcome(made)
    assert (found.kind, found.value, found.reason) == ("pruned", 0.8, "no promise")
    assert time.monotonic() - begin < 10


def test_close_ends_all_at_once():
    made = runner("import time; time.sleep(60)")
    for trial in range(3):
        made.start(trial, {"x": 0.5})
    while len(made._running) < 3:
        time.sleep(0.01)
    begin = time.monotonic()
    made.close()
    assert time.monotonic() - begin < 2.0
    assert made._running == {} or len(made.finished(5.0)) > 0
    made.start(9, {"x": 0.5})
    assert any(trial == 9 and found.reason == "interrupted" for _ in range(4) for trial, found in made.finished(5.0))
