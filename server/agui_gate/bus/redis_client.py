"""A client of Redis or Valkey from its URL, and what is said when it doesn't work: never the URL's password."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agui_gate.errors import Unavailable, Unusable

if TYPE_CHECKING:
    from redis.exceptions import RedisError

CONNECTIONS = 8
"""Connections for what is asked and sent; one more hears the notes."""

SOCKET_SECONDS = 5.0
"""Seconds that the server may take for an answer, or to be connected to."""


class Login:
    """The user and the password by which connections are opened, as redis-py asks for them; without any there are no
    ``words``.
    """

    def __init__(self, *words: str | None) -> None:
        self.words = tuple(word for word in words if word)

    def get_credentials(self) -> tuple[str, ...]:
        """Returns them as they are now."""
        return self.words

    async def get_credentials_async(self) -> tuple[str, ...]:
        """Returns them as they are now."""
        return self.words


def client_of(url: str, where: str) -> tuple[Any, Login]:
    """Returns a client with connections of its own, which opens none yet, and by what it will. Raises `Unusable`."""
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
        from redis.exceptions import RedisError
    except ImportError:
        raise Unusable(f'The bus {where} needs a package: pip install "agui-gate[redis]".') from None
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS + 1,
            timeout=None,
            # Who calls decides whether to try again; nothing is tried twice here.
            retry=Retry(NoBackoff(), 0, supported_errors=()),
            socket_timeout=SOCKET_SECONDS,
            socket_connect_timeout=SOCKET_SECONDS,
            client_name="agui-gate",
        )
        options = pool.connection_kwargs
        login = Login(options.pop("username", None), options.pop("password", None))
        options["credential_provider"] = login
        connection: Any = pool.make_connection()  # type: ignore[no-untyped-call]  # it opens nothing
        if where.startswith("rediss:"):
            connection.ssl_context.get()  # reads the files that are named
    except (RedisError, ValueError, TypeError, AttributeError):
        raise Unusable(f"The URL of the bus {where} has an option behind its ? that is wrong.") from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise Unusable(f"A file that the URL of the bus {where} names can't be used ({why}).") from None
    return Redis.from_pool(pool), login


def without_secrets(url: str) -> str:
    """Returns how the server is called in messages. Raises `Unusable` for what is no URL of one."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in ("redis", "rediss") and (parts.path.strip("/") or "0").isdecimal():
            name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or "localhost"
            return f"{parts.scheme}://{name}:{parts.port or 6379}"
    raise Unusable("The bus must be a URL such as redis://host:6379/0, or rediss:// for TLS.")


def away(error: Exception) -> Unavailable:
    """Returns the error that the server is away, or refuses."""
    return Unavailable(f"Live events are not available right now ({type(error).__name__}).")


def refusal(where: str, error: "RedisError | OSError") -> str:
    """Returns a sentence that says what to do. It repeats nothing but the server's name and its own words."""
    from redis import exceptions

    match error:
        case exceptions.AuthenticationError() | exceptions.AuthorizationError():
            return (
                f"The bus {where} requires another user or password. Put them into its URL: redis://user:password@host."
            )
        case exceptions.NoPermissionError():
            return f"The user that the URL of the bus {where} names lacks rights: {error}."
        case exceptions.ReadOnlyError():
            return f"The bus {where} is a replica that can't be written; name its primary."
        case exceptions.ResponseError():
            why = str(error).partition(". ")[0].rstrip(".")  # some explain at length what may be configured
            return f"The bus {where} refuses a command that is needed (Valkey, or Redis 6.2 or newer): {why}."
        case exceptions.InvalidResponse():
            return f"The server at {where} is neither Redis nor Valkey."
        case _ if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return (
                f"The certificate of the bus {where} is not trusted; name the CA that signed it, as in "
                "rediss://host?ssl_ca_certs=/path/ca.pem."
            )
        case _:
            return f"The bus {where} can't be reached ({type(error).__name__}); start it, or correct its URL."
