"""Who is asking: loopback names, bearer tokens."""

import pytest
from starlette.requests import Request

from agui_gate.http.bearer import Bearer
from agui_gate.http.local_requests import is_loopback
from tests.requirements import shows


@shows("B22")
@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("LOCALHOST", True),
        ("localhost.", True),
        ("app.localhost", True),
        ("127.0.0.1", True),
        ("127.255.0.3", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("notlocalhost", False),
        ("127.0.0.1.example", False),
        ("2130706433", False),
        ("0x7f.1", False),
        ("127.1", False),
        ("", False),
        (None, False),
    ],
)
def test_what_means_this_machine(host: str | None, expected: bool) -> None:
    assert is_loopback(host) is expected


def asking(authorization):
    headers = [] if authorization is None else [(b"authorization", authorization)]
    return Request({"type": "http", "headers": headers})


@shows("B22")
@pytest.mark.parametrize(
    ("authorization", "principal"),
    [
        (b"Bearer token-of-ada", "ada"),
        (b"bearer token-of-bob", "bob"),
        ("Bearer token-of-zoë".encode(), "zoë"),
        ("Bearer token-of-zoë".encode("latin-1"), None),
        (b"Bearer   token-of-bob  ", "bob"),
        (b"Bearer token-of-ad", None),
        (b"Bearer token-of-ada2", None),
        (b"Bearer ", None),
        (b"Bearer", None),
        (b"Basic token-of-ada", None),
        (b"token-of-ada", None),
        (b"Bearer \xff\xfe", None),
        (b"", None),
        (None, None),
    ],
)
def test_bearer_tokens(authorization: bytes | None, principal: str | None) -> None:
    assert (
        Bearer({"ada": "token-of-ada", "bob": "token-of-bob", "zoë": "token-of-zoë"})(asking(authorization))
        == principal
    )
