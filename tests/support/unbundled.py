"""The pages as a checkout serves them where nothing was bundled."""

from agui_gate.extras.components.bundle import Bundle


class Unbundled(Bundle):
    """The sources, whatever was bundled of them in this checkout."""

    @property
    def folder(self) -> None:
        return None
