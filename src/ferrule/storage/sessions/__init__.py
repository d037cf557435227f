"""Sessions in SQLite: append-only rows of encoded messages, one writer per session."""

from .session import SqliteSession as SqliteSession
from .store import SqliteSessions as SqliteSessions
from .store import open_sessions as open_sessions
