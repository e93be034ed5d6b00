"""Clients that ask too much, a token in the wrong hands, and a bill that grows."""

import re
from pathlib import Path

import httpx2

from tests.people import issuer
from tests.requirements import shows
from tests.runbook.place import Place

pytestmark = shows("T5")


def test_clients_get_429(place: Place) -> None:
    place.env |= {"AGUI_GATE_LIMITS": "principal:runs=1", "AGUI_GATE_USAGE": "on"}
    page = place.page("limits")
    server = place.start()
    loop = server.aside(server.say, "ann", "t1", "hang up")
    server.until(lambda: "running" in server.send("ann", "GET", "/threads/t1").text, "running")
    storm = [server.say("ann", f"t{number}", "hello") for number in range(2, 22)]
    assert {answer.status_code for answer in storm} == {429}
    assert "rate_limited" in server.say("bob", "t1", "too often").text, "the provider's"
    said = page.run("Look")
    assert "event=provider_failed" in said
    assert said.count("event=request_refused") == 1, "a storm is one line"
    (run,) = re.findall(r"^(run_\w+) +ann ", said, re.MULTILINE)
    page.run("Cure", 1, RUN=run)
    loop.result()
    assert "bob" in page.run("Cure", 2)
    page.run("Verify")
    assert "Done." in server.say("ann", "t2", "hello").text
    page.end()


def test_a_token_that_has_leaked(place: Place, tmp_path: Path) -> None:
    server = place.start()
    values = {"OWNER": "ann", "TOKENS_FILE": str(place.tokens), "REVOKED_FILE": str(tmp_path / "revoked")}
    page = place.page("token", SERVER=server.url, OLD_TOKEN="token-of-ann", PID=str(server.process.pid), **values)
    waits = server.ask("ann", "t1", "refund R1")
    stolen = server.ask("ann", "t2", "refund R2")
    assert server.decide("ann", stolen).json()["state"] == "done"
    open_stream = server.aside(server.say, "ann", "t3", "hang up")
    server.until(lambda: "running" in server.send("ann", "GET", "/threads/t3").text, "running")

    assert page.run("Look", 1) == "ann\n"
    assert stolen in page.run("Look", 3)
    page.run("Cure", 1)
    page.run("Cure", 2)
    server.until_logged("event=settings_read changed=tokens")
    assert isinstance(open_stream.exception(), httpx2.HTTPError), "its stream ends"
    page.run("Verify")
    assert server.decide("ann", waits).status_code == 401
    (line,) = [line for line in place.tokens.read_text().splitlines() if line.startswith("ann:")]
    page.run("Cure", 4, APPROVAL=waits, APPROVER_TOKEN=line.removeprefix("ann:"))
    page.run("Cure", 5, NEW_TOKEN=line.removeprefix("ann:"))
    assert server.say("bob", "t1", "hello").status_code == 200, "nobody else noticed"
    again = server.send(line.removeprefix("ann:"), "GET", "/threads/t1")
    assert (again.status_code, len(place.effects())) == (200, 1)

    issuer.write(tmp_path / "keys.json", issuer.public("ES256", "ec"))
    (tmp_path / "revoked").touch()
    signed = place.start(
        AGUI_GATE_JWT_ISSUER=issuer.ISSUER, AGUI_GATE_JWT_AUDIENCE=issuer.AUDIENCE,
        AGUI_GATE_JWT_JWKS=str(tmp_path / "keys.json"), AGUI_GATE_JWT_REVOKED=str(tmp_path / "revoked"),
    )  # fmt: skip
    stolen, other = (issuer.token("ES256", "ec", sub="cat", jti=name) for name in ("stolen-1", "other-1"))
    assert [signed.say(one, "t1", "hello").status_code for one in (stolen, other)] == [200, 200]
    assert '"jti":"stolen-1"' in page.run("Look", 2, OLD_TOKEN=stolen).replace(" ", "")
    page.run("Cure", 3, JTI="stolen-1")
    signed.until(lambda: signed.say(stolen, "t1", "hello").status_code == 401, "refused")
    assert signed.say(other, "t1", "hello").status_code == 200
    page.end()


def test_costs_that_explode(place: Place) -> None:
    place.env["AGUI_GATE_USAGE"] = "on"
    page, token = place.page("costs"), place.page("token", OWNER="ann", TOKENS_FILE=str(place.tokens))
    server = place.start()
    for number in range(20):
        assert server.say("ann", f"t{number}", "once more").status_code == 200
    server.say("bob", "t1", "hello")
    loop = server.aside(server.say, "ann", "t1", "hang up")
    server.until(lambda: "running" in server.send("ann", "GET", "/threads/t1").text, "running")
    said = page.run("Look")
    (run,) = re.findall(r"^(run_\w+) +ann ", said, re.MULTILINE)
    token.run("Cure", 1)
    token.run("Cure", 2, PID=str(server.process.pid))
    server.until_logged("event=settings_read changed=tokens")
    assert server.say("ann", "t1", "once more").status_code == 401
    assert isinstance(loop.exception(), httpx2.HTTPError), "its stream ends"
    page.run("Stop the harm", RUN=run, code=None)  # it may have ended with its stream
    used = page.run("Verify")
    server.end()

    page.run("Cure", 1)
    after = place.start(AGUI_GATE_BUDGETS="run:200000,principal:2000", AGUI_GATE_LIMITS="principal:runs=8")
    (line,) = [line for line in place.tokens.read_text().splitlines() if line.startswith("ann:")]
    refused = after.say(line.removeprefix("ann:"), "t1", "once more")
    assert (refused.status_code, "retry-after" in refused.headers) == (429, True)
    assert page.run("Verify") == used, "no model was asked"
    assert after.say("bob", "t1", "hello").status_code == 200
    page.end()
