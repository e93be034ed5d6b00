"""Names for extensions of your own: routes, notifications and jobs that hang on the server, which doesn't know them.

`create_app(agent, extensions=[Mine()])` takes objects of classes that extend `Extension`. Override the hooks that you
need; one that you leave out costs nothing. An extension belongs to one application.

| hook | called | may it be lost? | bound |
|---|---|---|---|
| `routes` | once, by `create_app` | | none: don't wait there |
| `start` | before this process takes its first run | it fails the start | 10 s |
| `drain` | when this process is told to end, perhaps twice | | don't wait there |
| `stop` | after the last run of this process ended, before the store closes | | 5 s, all together |
| `tick` | about once a second, never twice at a time | missed while the last one goes on | 1 s |
| `written` | at once, here, after a commit | yes | don't wait there |
| `notices` | soon, in one process of all that share the store | no: at least once | 5 s |
| `separate_run` | for each run that is asked for here | | don't wait there |

All of them are called in the event loop that serves everybody, so none may block it. What has a bound is cancelled when
it takes longer. What a hook raises is logged and hinders nobody: no run, no decision, no other extension. Only `start`
and `routes` fail the start of the server, since nothing is at work then. A server that is started again after it was
closed calls `start` and `stop` again.

docs/extensions.md has more about hints and notices. tests/test_extension.py tests what is promised here.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from agui_gate.agents.agent import Agent
from agui_gate.core.approvals import Approval
from agui_gate.protocol.run_input import RunInput
from agui_gate.stores.base import Store
from agui_gate.stores.outbox import Notice, NoticeKind

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

__all__ = ["Extension", "Hint", "Notice", "NoticeKind", "RunInput", "Server", "Written"]


Written = Literal["saved", "ended", "approvals", "stop"]


class Hint(msgspec.Struct, frozen=True):
    """A hint that something about one thread was written to the store, which has what it is.

    ``what``: ``saved``, something of the thread; ``ended``, also its run ended; ``approvals``, its approvals have
    changed, and perhaps more; ``stop``, somebody asks what is at work on it to stop. ``here``: this process wrote it;
    else another replica said so, which is left out for ``saved``, and where no bus connects them.
    """

    principal: str
    thread_id: str
    what: Written
    here: bool = True


class Server(Protocol):
    """The part of the server that an extension may use, on which it hangs."""

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents that are served, by name."""
        ...

    @property
    def store(self) -> Store:
        """The store. It is open from `Extension.start` to `Extension.stop`, and in a route after `principal`."""
        ...

    async def principal(self, request: "Request") -> str:
        """Returns who asks, as for the server's own routes. Raises `Unauthorized`, `Forbidden` and what else they
        raise, which becomes the answer.

        Each route of yours should call it first: without it, anybody may ask. It starts the server if need be.
        """
        ...

    async def body(self, request: "Request") -> bytes:
        """Returns the request's JSON text, within the server's limits of size and time. Raises what becomes a 400, 413
        or 415.
        """
        ...

    def record(self, approval: Approval) -> dict[str, Any]:
        """Returns an approval as the JSON object of `GET /approvals/{id}`."""
        ...


class Extension:
    """Base class of all extensions: hooks that do nothing."""

    notice_kinds: Collection[NoticeKind] = ("approval_pending", "approval_decided", "run_ended")
    """The kinds that `notices` reads. Without ``run_ended`` no row is written for each run, if nobody else reads it.
    There is one more, ``approval_notice``: a reminder, an escalation, or that nobody is at work on a call.
    """

    def routes(self, server: Server) -> "Sequence[BaseRoute]":
        """Returns Starlette routes to add to the application's, behind them: none can replace one of the server's.

        What they raise of `agui_gate.errors` is answered in the server's one shape.
        """
        return ()

    async def start(self, server: Server) -> None:
        """Opens what the extension needs. The store is open; nothing is at work. What this raises fails the start."""

    def drain(self) -> None:
        """Ends long streams and takes nothing new. Runs at work may still go on for `AGUI_GATE_DRAIN_SECONDS`, and
        other hooks are called until `stop`. May be called again.
        """

    async def stop(self) -> None:
        """Closes what `start` opened. No hook is called after this, until the server starts again."""

    async def tick(self) -> None:
        """Does a small piece of work. Every process does this, so what must be done once needs the store's help."""

    def written(self, hint: Hint) -> None:
        """Hears that something was written to the store a moment ago, most often by this process.

        A hint may be lost and may come twice. Look into the store from time to time, too.
        """

    async def notices(self, batch: Sequence[Notice]) -> None:
        """Takes notices, oldest first: an approval is pending, or has changed; a run has ended.

        They are written in the same transaction as what they tell, so none is lost and none is untrue. One process of
        all that share a store is given them at a time. They are removed when every extension has returned. If this
        raises, is cancelled or the process dies, they come again, after a delay that grows to a minute; so some may
        come twice. Those of one thread come in their order. Kinds that you don't know are none of your business.
        """

    def separate_run(self, agent: Agent, run: RunInput) -> Agent | None:
        """Returns the agent that answers this request apart from its thread; None, as most often, leaves it alone.

        Such a run streams its answer and nothing of it is kept. Nobody can approve anything in it, so give it an agent
        without gated tools. Its client is known and may ask; the request is valid. Treat it as read-only.
        """
        return None
