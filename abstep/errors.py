"""What abstep says when the input or the call is wrong: one line, and the remedy."""

from __future__ import annotations


class AbstepError(Exception):
    """A fault of the input or of the call, told in one line.

    Args:
        message: what is wrong, naming the file or option it is about.
        remedy: what the user can do about it.
        exit_code: the process's exit status (RESULT.md, Commands); 2 unless said.

    """

    def __init__(self, message: str, remedy: str = "", exit_code: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.exit_code = exit_code

    def __str__(self) -> str:
        """Return the line printed on standard error."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class TraceError(AbstepError):
    """A trace file that cannot be read as one."""


class StoreError(AbstepError):
    """A store that cannot be opened, read or written."""
