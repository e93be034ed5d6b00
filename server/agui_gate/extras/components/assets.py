"""`/components/agui-gate.js` and `/components/auto.js`, for pages of any origin.

Both are a line, asked for on every load, that names the modules below the hash of what is in them; these are kept for
good. They hold no data, so anybody may have them: what pages may read is decided where they ask for it.
"""

from functools import partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from agui_gate.extras.components.bundle import Bundle, components, named
from agui_gate.extras.page.assets import HashedFiles

OPEN = {
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
    "x-content-type-options": "nosniff",
}

ENTRIES = {
    "agui-gate.js": 'export * from "./{hash}/agui-gate.js";\n',
    "auto.js": 'import "./{hash}/auto.js";\n',
}


def routes(server: object) -> list[BaseRoute]:
    """Returns the routes. They need nothing of the server."""
    return component_routes(Bundle())


def component_routes(bundle: Bundle) -> list[BaseRoute]:
    """Returns the routes that serve ``bundle``, or its sources where it is not there."""
    files = HashedFiles(partial(_served, bundle), OPEN)

    async def entry(request: Request) -> Response:
        text = ENTRIES[request.url.path.rpartition("/")[2]].format(hash=files.hash)
        return Response(text, media_type="text/javascript", headers=OPEN | {"cache-control": "no-cache"})

    return [*(Route(f"/components/{name}", entry) for name in ENTRIES), Mount("/components", files)]


def _served(bundle: Bundle) -> dict[str, Path]:
    folder = bundle.folder
    found = components(bundle.sources) if folder is None else named(folder, "components/", "*.js")
    return {name.removeprefix("components/"): path for name, path in found}
