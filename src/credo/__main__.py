"""`python -m credo` is the command `credo`."""

from credo.cli.main import run

if __name__ == "__main__":
    run()
