"""The defaults of settings that are also those of a part that is used without settings: each stands here alone.

What each of them means is said in `agui_gate.config.settings.Settings`.
"""

TURN_BYTES = 4 * 1024 * 1024
TURN_CALLS = 256
TURN_SECONDS = 900.0
TOOLS_AT_ONCE = 16
TOOL_THREADS = 64
THREAD_BYTES = 32 * 1024 * 1024
THREAD_ENTRIES = 20_000
OPEN_BYTES = 256 * 1024 * 1024
KEPT_BYTES = 64 * 1024 * 1024
STATE_BYTES = 512 * 1024
PRINCIPAL_RUNS = 1000
LIMITS: tuple[str, ...] = ()
RETENTION_THREADS_DAYS = 0
RETENTION_RECORDS_DAYS = 0
MAX_BODY_BYTES = 4 * 1024 * 1024
EVENTS_SECONDS = 300.0
EVENTS_BYTES = 1024 * 1024
DISCONNECT_GRACE = 0.5
SEND_TIMEOUT = 30.0
BODY_SECONDS = 60.0
