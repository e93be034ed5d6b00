"""The shop in FastAPI, as other hosts serve it: with its lifespan passed on, and without."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from cli_shop import agent
from fastapi import FastAPI

from agui_gate import create_app
from agui_gate.config.settings import Settings

gate = create_app(agent, settings=Settings(store=os.environ.get("HOSTS_STORE", "memory://")))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    """As in `examples/fastapi_mount.py`."""
    async with gate.router.lifespan_context(gate):
        yield


passed_on = FastAPI(lifespan=lifespan)
passed_on.mount("/chat", gate)
forgotten = FastAPI()
forgotten.mount("/chat", gate)
