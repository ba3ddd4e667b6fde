"""`python -m abstep` and the `abstep` command."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit status."""
    from abstep.cli import run  # noqa: PLC0415  nothing is imported before it is needed

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
