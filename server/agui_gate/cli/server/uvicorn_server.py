"""uvicorn, as the commands run it.

Divergences from `uvicorn.run`, each for a reason:

* the address is bound first, so that a taken port is one clear sentence and port 0 can be printed;
* engines are started before uvicorn's lifespan is, whose failures are tracebacks;
* told to stop, it goes on serving while what is in flight comes to its end (`Engine.drain`): load balancers see that it
  is no longer ready, and whoever asks gets a 503;
* runs are ended before uvicorn waits for open responses: an event stream would hold up the exit until the time-out;
* connections have bounds (`agui_gate.cli.server.connections`), and as many descriptors as the system gives;
* SIGHUP stops it, too, unless it is ignored (`nohup`); or it has the settings' files read again (`SettingsFiles`);
* a signal stops it also while it starts, and not only once it has;
* these signals end in exit code 0: uvicorn raises them again after it has stopped;
* what a second signal cuts off is not told in tracebacks.
"""

import asyncio
import errno
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn

from agui_gate.cli.interrupts import Runner
from agui_gate.cli.server.connections import ConnectionLimits, limits_from, raise_descriptors, sweep
from agui_gate.cli.target import states_of
from agui_gate.cli.terminal.console import print_hint
from agui_gate.config.settings import Settings
from agui_gate.errors import ConfigurationError

END_SECONDS = 3.0
"""Seconds that runs that are stopped may take to end their streams."""

SWEEP_TICKS = 5
"""Tenths of a second between looks at the connections."""

GRACE_SECONDS = 5
"""Seconds that uvicorn waits for the responses and connections that are left."""


class Config(uvicorn.Config):
    """uvicorn's configuration, with the limits of connections."""

    connection_limits = ConnectionLimits()


def configure(
    app: Any,
    *,
    quiet: bool = False,
    factory: bool = False,
    reload: bool = False,
    limits: ConnectionLimits | None = None,
) -> Config:
    """Returns the configuration: no access log, no WebSockets, the fast loop and parser where they are installed.

    ``limits``: those of the default settings, if not given.
    """
    limits = limits or limits_from(Settings(), raise_descriptors())
    config = Config(
        app,
        http="agui_gate.cli.server.connections:Connection",
        factory=factory,
        reload=reload,
        log_config=None,  # its lines have the form of all others
        log_level="critical" if quiet else "warning",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=limits.keep_alive_seconds,  # type: ignore[arg-type]  # handed to the loop as it is
        h11_max_incomplete_event_size=limits.header_bytes,
    )
    config.connection_limits = limits
    return config


def bind(host: str, port: int) -> socket.socket:
    """Returns a listening socket. Raises `ConfigurationError` if the address can't be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigurationError(_refusal(host, port, error)) from error


def bind_near(host: str, port: int, tries: int = 20) -> socket.socket:
    """Returns a listening socket on ``port`` or the next free one after it. Raises `ConfigurationError`."""
    for candidate in range(port, port + tries):
        try:
            return bind(host, candidate)
        except ConfigurationError as error:
            taken = isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE
            if not taken:
                raise
    raise ConfigurationError(f"The ports {port} to {port + tries - 1} are all taken; choose one with --port.")


def address_of(sock: socket.socket, host: str) -> str:
    """Returns the URL to open: ``host`` as it was asked for, with the port that was bound."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{sock.getsockname()[1]}"


class Server(uvicorn.Server):
    """A uvicorn server that ends runs first. ``on_started`` is called once it accepts connections; ``on_hangup`` when
    there was a SIGHUP, which doesn't stop it then, unless a terminal has ended.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        on_started: Callable[[], None] | None = None,
        on_hangup: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config)
        self._on_started, self._on_hangup = on_started, None if sys.stderr.isatty() else on_hangup
        self._has_hung_up = False
        self._starting: asyncio.Future[Any] | None = None
        self._draining: asyncio.Future[Any] | None = None
        self._tells = False

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serves in a loop of its own."""
        run_server(self.serve(sockets), self.config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts the engines, then listens. Raises `ConfigurationError` of a store that can't be opened. Told to stop
        meanwhile, it doesn't wait for them: a store that is migrated may take an hour.
        """
        unblock_signals()
        self._starting = asyncio.ensure_future(self._start_engines())
        try:
            await self._starting
        except asyncio.CancelledError:
            if not self.should_exit:
                raise
            return
        await super().startup(sockets)
        if self.started and self._on_started is not None:
            self._on_started()

    async def _start_engines(self) -> None:
        for state in self._states():
            await state.engine.start()

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second. It ends once it was told to stop and nothing is in flight any more."""
        if counter % SWEEP_TICKS == 0:
            sweep(self.server_state)
        if self._has_hung_up and self._on_hangup is not None:
            self._has_hung_up = False
            self._on_hangup()
        return await super().on_tick(counter) and self._is_drained()

    def _is_drained(self) -> bool:
        if self._draining is None:
            # Who changes a file waits for the new code, and for no run of the old one.
            drains = [
                state.engine.drain(0.0 if self.config.reload else state.drain_seconds, END_SECONDS)
                for state in self._states()
            ]
            self._draining = asyncio.gather(*drains, return_exceptions=True)
        elif self._tells and not self._draining.done():
            self._tells = False
            print_hint("Waiting for what runs to end. Press Ctrl-C again to stop it now.")
        return self.force_exit or self._draining.done()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Takes no new connections, ends the runs that are left, then stops."""
        for listener in self.servers:
            listener.close()
        if self._draining is not None:
            self._draining.add_done_callback(_seen)
            self._draining.cancel()  # if it isn't over, a second signal has come
        drains = [state.engine.drain(grace=END_SECONDS) for state in self._states()]
        await asyncio.gather(*drains, return_exceptions=True)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Within, signals stop the server."""
        hangup = getattr(signal, "SIGHUP", None)
        with super().capture_signals():
            if hangup is None or not is_ours(hangup, is_stop=self._on_hangup is None):
                yield
                return
            before = signal.signal(hangup, self.handle_exit if self._on_hangup is None else self._hang_up)
            try:
                yield
            finally:
                signal.signal(hangup, before)

    def _hang_up(self, sig: int, frame: FrameType | None) -> None:
        """Has the settings' files read again at the next tick, so not before the server has started."""
        self._has_hung_up = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stops; a second signal stops at once. It isn't raised again: being told to stop is no failure.

        Two don't count as a second one. A terminal that closes sends SIGHUP twice. The parent of `--reload` sends
        SIGTERM after the terminal's SIGINT.
        """
        again = sig == signal.SIGINT if self.config.reload else sig != getattr(signal, "SIGHUP", None)
        if self.should_exit and again:
            self.force_exit = True
        self._tells = not self.should_exit and sig == signal.SIGINT  # a person who waits wants to know for what
        self.should_exit = True
        if self._starting is not None:
            self._starting.get_loop().call_soon_threadsafe(self._starting.cancel)

    def _states(self) -> list[Any]:
        return states_of(self.config.loaded_app if self.config.factory else self.config.app)


def _seen(drain: "asyncio.Future[Any]") -> None:
    """Takes the drain's exception, so that asyncio doesn't report it; that it was cut off is nothing to tell."""
    if not drain.cancelled():
        drain.exception()  # asking for it is enough: asyncio reports only errors that nobody asked for


def is_ours(number: signal.Signals, *, is_stop: bool = True) -> bool:
    """Returns whether this process may say what that signal does: nobody else has, and this is the main thread. What is
    ignored (`nohup`) is not to stop it, and may do something else.
    """
    kept = (signal.SIG_DFL,) if is_stop else (signal.SIG_DFL, signal.SIG_IGN)
    return threading.current_thread() is threading.main_thread() and signal.getsignal(number) in kept


def unblock_signals() -> None:
    """Takes the signals that were held back while this process was loaded: there are handlers for them now."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGHUP])


def serve_forever(server: Server, sock: socket.socket) -> None:
    """Runs ``server`` on ``sock`` until it is told to stop."""
    server.run([sock])


def run_server(work: Coroutine[Any, Any, None], config: uvicorn.Config) -> None:
    """``work``, which serves, in the loop that ``config`` says. What the loop's end cuts off is no error any more."""
    with Runner(config.get_loop_factory()) as runner:
        try:
            runner.run(work)
        finally:
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)


def _refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is taken by another program; choose another with --port."
    if error.errno == errno.EACCES:
        return f"Port {port} needs rights that this user doesn't have; choose one above 1023 with --port."
    return f"{host}:{port} can't be listened on ({error.strerror or error}); check --host and --port."
