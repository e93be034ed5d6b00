"""What lives as long as the server is out of the garbage collector's sight (T15)."""

import asyncio
import gc
from collections.abc import Sequence

import pytest

from agui_gate import Agent, create_app
from agui_gate.adapter import Finding
from agui_gate.cli.serving.uvicorn_server import Server, bind, configure
from tests.product.inprocess import Parrot
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T15")]


class Loads(Parrot):
    """An adapter whose package is loaded when its setup is looked at."""

    package: list[list[int]]

    async def check_setup(self) -> Sequence[Finding]:
        """Nothing is missing."""
        self.package = [[]]
        return ()


def is_looked_through(thing: object) -> bool:
    return any(known is thing for known in gc.get_objects())


async def test_a_provider_s_package_is_not_looked_through_again_and_again() -> None:
    """It has so many objects that each full collection would stop everybody for a tenth of a second."""
    model = Loads()
    with bind("127.0.0.1", 0) as sock:
        server = Server(configure(create_app(Agent(name="a", model=model), store="memory://"), quiet=True))
        task = asyncio.create_task(server.serve(sockets=[sock]))
        try:
            async with asyncio.timeout(60):
                while not hasattr(model, "package"):  # noqa: ASYNC110  (what it waits for has no event)
                    await asyncio.sleep(0.01)
                await server._checking
            assert not is_looked_through(model.package)
            assert is_looked_through([model])
        finally:
            server.should_exit = True
            await task
            gc.unfreeze()
