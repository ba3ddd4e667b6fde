"""Keeps what was read: one DuckDB file."""

from __future__ import annotations

from abstep.store.ingest import Progress
from abstep.store.store import RunRow, Store, open_store

__all__ = ["Progress", "RunRow", "Store", "open_store"]
