"""The errors between a call and its result, by whether the call may have taken effect."""


class Trouble(Exception):
    """The root of these errors. ``text`` is for people, begins with what happened, and holds no secret.

    ``words``, the server's, are not logged.
    """

    def __init__(self, text: str, words: str = "") -> None:
        super().__init__(f"{text}: {words}" if words else text)
        self.text = text
        self.words = words


class Unusable(Trouble):
    """The server can't be connected to."""


class Undelivered(Trouble):
    """The call never reached the server: it had no effect, and may be made again over a new connection."""


class Refused(Trouble):
    """The server, or what stands before it, answered with an error: its word, and nothing else to be had."""


class Lost(Trouble):
    """The connection ended before the answer came: nobody knows whether the call took effect."""


class BadResult(Trouble):
    """The tool ran, and what it returned can't be read."""
