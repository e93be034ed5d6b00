"""The audit trail for people: who reads which part of it, in which form, and what an entry says."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from agui_gate import Grant, Principal
from agui_gate import adapter as ad
from agui_gate.extras.audit.forms import accepted, cell
from agui_gate.extras.audit.verification import verify
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.sql import trail_reader
from agui_gate.stores.sql.operations import Last, Statement, Steps
from tests.people.desk import Desk, Json, Model
from tests.product.inprocess import request
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("K1")]

FINANCE = ("approver", "finance")
LOGIN = {"person": "p-ben", "acr": "mfa", "amr": ["otp"], "auth_time": 1_700_000_000, "jti": "j1"}
PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme"),
    "bob": Principal("bob", "acme"),
    "ben": Principal("ben", "acme", FINANCE, claims=LOGIN),
    "cat": Principal("cat", "acme", FINANCE),
    "aud": Principal("aud", "acme", ("auditor",)),
    "oli": Principal("oli", "acme", ("operator",)),
    "evil aud": Principal("aud", "evil", ("auditor",)),
    "evil ben": Principal("ben", "evil", FINANCE),
    "plain": "bob",
}


async def entries(desk: Desk, who: str, query: str = "") -> list[Json]:
    answer = await desk.get(who, "/audit", query)
    assert answer.status == 200, answer.body
    return list(answer.json()["entries"])


async def told(desk: Desk) -> str:
    """A call that ben edits, and cat agrees to."""
    approval_id = await desk.ask("ada")
    edited = {"order_id": "A1", "amount": 15}
    assert (await desk.decide("ben", approval_id, edited_arguments=edited, reason="too much")).status == 200
    for who in ("cat", "ben2"):
        await desk.decide(who, approval_id, effective_arguments=edited)
    return approval_id


PAIR: dict[str, Any] = {"approvers": "finance", "needs": 2, "editable": ["amount"]}
BEN2 = {"ben2": Principal("dan", "acme", FINANCE)}


async def test_an_entry_says_who_how_why_and_what(store: FullStore) -> None:
    async with Desk(PEOPLE | BEN2, **PAIR).open(store) as desk:
        approval_id = await told(desk)
        story = (await entries(desk, "aud", f"approval={approval_id}"))[::-1]
        kinds = [one["kind"] for one in story if one["kind"] not in ("shown", "refused")]
        assert kinds == ["asked", "agreed", "agreed", "approved", "claimed", "done"]
        asked = story[0]
        assert (asked["tool"], asked["agent"], asked["owner"], asked["tenant"]) == ("refund", "support", "ada", "acme")
        assert asked["arguments"] == {"order_id": "A1", "amount": 20}
        assert asked["asker"] == "ada"
        by_ben = next(one for one in story if one["by"] == "ben")
        assert {name: by_ben[name] for name in ("person", "acr", "amr", "auth_time", "jti")} == LOGIN
        assert (by_ben["reason"], by_ben["edited"], by_ben["way"]) == ("too much", ["/amount"], "http")
        assert by_ben["roles"] == list(FINANCE)
        assert by_ben["effective_arguments"] == {"order_id": "A1", "amount": 15}
        assert by_ben["text"].startswith("p-ben (as ben), approver and finance, agreed over HTTP")
        by_cat = next(one for one in story if one["by"] == "cat")
        assert by_cat["text"] == (
            "cat, approver and finance, agreed over HTTP from 127.0.0.1, with amount as p-ben changed it."
        )
        claimed, done = story[-2:]
        assert claimed["effective_arguments"] == {"order_id": "A1", "amount": 15}
        assert (done["result"], done["state"], done["text"]) == ("refunded", "done", "It ran, and ended.")


class Counting(Model):
    """A model that uses more with each turn."""

    used = 0

    def _turn(self, request: ad.TurnRequest) -> list[Any]:
        self.used += 10
        *events, _ = super()._turn(request)
        return [*events, ad.TurnDone(usage=ad.Usage("acme", "large", self.used, 3, self.used + 3))]


async def test_a_question_names_the_model_that_asked_where_usage_is_kept(
    store: FullStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.people.desk.Model", Counting)
    async with Desk(PEOPLE, **PAIR).open(store, usage=True) as desk:
        first = await desk.ask("ada")
        await desk.decide("ben", first)
        await desk.decide("cat", first)
        await desk.ask("ada", thread="t2")
        names = ("provider", "model", "input_tokens", "output_tokens")
        asked = [[one[name] for name in names] for one in await entries(desk, "aud", "decision=asked")]
        assert asked == [["acme", "large", 20, 3], ["acme", "large", 10, 3]]
        others = [one for one in await entries(desk, "aud", f"approval={first}") if one["kind"] != "asked"]
        assert {one["model"] for one in others} == {""}


async def test_everybody_reads_the_part_that_is_theirs(store: FullStore) -> None:
    async with Desk(PEOPLE | BEN2, **PAIR).open(store) as desk:
        approval_id = await told(desk)
        other = await desk.ask("bob", thread="b")
        whole = {approval_id, other}
        mine = {"aud": whole, "oli": whole, "ada": {approval_id}, "bob": {other}, "ben": {approval_id}}
        mine |= {"evil aud": set(), "evil ben": set(), "plain": set()}
        for who, ids in mine.items():
            assert {one["approval_id"] for one in await entries(desk, who)} == ids, who
            for name in whole:
                assert bool(await entries(desk, who, f"approval={name}")) is (name in ids), (who, name)
        assert {one["by"] for one in await entries(desk, "ben")} == {"ben"}, "of others' calls what they did"
        assert len(await entries(desk, "ben", f"approval={approval_id}")) > 3, "and all of one that they decided"


async def test_filters_and_pages(store: FullStore) -> None:
    async with Desk(PEOPLE | BEN2, **PAIR).open(store) as desk:
        await told(desk)
        other = await desk.ask("bob", thread="b")
        everything = await entries(desk, "aud")
        queries: dict[str, Callable[[Json], bool]] = {
            "person=p-ben": lambda one: one["person"] == "p-ben",
            "person=bob": lambda one: "bob" in (one["owner"], one["by"], one["asker"]),
            "decision=agreed": lambda one: one["kind"] == "agreed",
            "thread=b": lambda one: one["approval_id"] == other,
            "tool=refund": lambda one: True,
            "tool=none": lambda one: False,
            "agent=none": lambda one: False,
            "until=2020-01-01": lambda one: False,
            "since=2999-01-01T00:00:00Z": lambda one: False,
            f"since={everything[-1]['at'].replace('+', '%2B')}": lambda one: True,
        }
        for query, fits in queries.items():
            assert await entries(desk, "aud", query) == [one for one in everything if fits(one)], query
        for who in ("aud", "ben"):
            paged: list[Json] = []
            cursor: str | None = ""
            while cursor is not None:
                page = (await desk.get(who, "/audit", f"limit=2&cursor={cursor}")).json()
                paged, cursor = [*paged, *page["entries"]], page["next_cursor"]
            assert paged == await entries(desk, who)
        for query in ("cursor=x", "cursor=1.2", "limit=0", "since=soon", "decision=maybe", "format=xml", "colour=red"):
            answer = await desk.get("aud", "/audit", query)
            assert (answer.status, answer.json()["error"]["code"]) == (422, "invalid_request"), query


async def test_it_comes_as_lines_and_for_spreadsheets(store: FullStore) -> None:
    async with Desk(PEOPLE | BEN2, **PAIR).open(store) as desk:
        await told(desk)
        expected = await entries(desk, "aud")
        lines = (await desk.get("aud", "/audit", "format=jsonl")).body.decode().splitlines()
        assert [json.loads(line) for line in lines] == expected
        found = list(csv.DictReader(io.StringIO((await desk.get("aud", "/audit", "format=csv")).body.decode())))
        assert [(one["kind"], one["by"], one["hash"]) for one in found] == [
            (one["kind"], one["by"], one["hash"]) for one in expected
        ]
        assert len((await desk.get("aud", "/audit", "format=jsonl&limit=2")).body.splitlines()) == 2


async def test_a_browser_gets_the_page_and_its_files() -> None:
    async with Desk(PEOPLE).open() as desk:
        accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
        page = await request(desk.app, "GET", "/audit", headers={"accept": accept})
        assert page.status == 200
        assert b"Audit trail" in page.body
        for name in ("audit.css", "audit.js"):
            assert (await request(desk.app, "GET", f"/audit/files/{name}")).status == 200
        assert (await request(desk.app, "GET", "/audit/files/../routes.py")).status == 404


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("text/html,application/xml;q=0.9,*/*;q=0.8", "html"),
        ("application/json, text/html;q=0.5", "json"),
        ("text/csv", "csv"),
        ("application/x-ndjson", "jsonl"),
        ("text/html;q=x", "json"),
    ],
)
def test_the_form_that_is_asked_for(accept: str, form: str) -> None:
    assert accepted(accept) == form


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\uff1d1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert cell(text) == f"'{text}"
    assert cell([text, "b"]).startswith("'")


async def test_what_has_no_thread_is_in_it_too(store: FullStore) -> None:
    from agui_gate.core.freezes import Freeze

    async with Desk(PEOPLE, grants=[Grant.thread()]).open(store) as desk:
        approval_id = await desk.ask("ada")
        grant = (await desk.decide("ada", approval_id, grant={"scope": "thread"})).json()["grant"]
        assert (await request(desk.app, "DELETE", "/threads/t", headers={"authorization": "ada"})).status == 200
        revoked = await request(desk.app, "DELETE", f"/grants/{grant}", headers={"authorization": "ada"})
        assert revoked.status == 200
        for lift in (False, True, True):
            await store.freeze(Freeze(tool="refund", of_tenant="acme"), lift=lift)
        told = (await entries(desk, "aud"))[:3][::-1]
        assert [one["text"] for one in told] == [
            f"ada revoked grant {grant}.",
            "Gated calls of tool refund and of tenant acme were frozen.",
            "The freeze of gated calls of tool refund and of tenant acme was lifted.",
        ]
        assert [one["kind"] for one in await entries(desk, "evil aud")] == []


async def test_a_reason_outlives_its_thread_until_the_key_of_its_person_is_gone(store: FullStore) -> None:
    async with Desk(PEOPLE).open(store) as desk:
        approval_id = await desk.ask("ada")
        await desk.decide("ada", approval_id, False, reason="PLANTED why")
        assert "PLANTED" not in str(await desk.trail()), "the trail has it encrypted"
        deleted = await request(desk.app, "DELETE", "/threads/t", headers={"authorization": "ada"})
        assert deleted.status == 200, deleted.body
        (told,) = await entries(desk, "aud", "decision=rejected")
        assert (told["reason"], told["text"]) == (
            "PLANTED why",
            "ada rejected it over HTTP from 127.0.0.1: “PLANTED why”",
        )
        engine: Any = desk.app.state.engine
        (event,) = [one for one in await desk.trail() if one.kind == "rejected"]
        assert await engine.store.trail.reason(msgspec.structs.replace(event, approval_id="apr_2")) is None, (
            "it is bound"
        )
        await engine.store._do("write", lambda: drop("person_keys"))
        (told,) = await entries(desk, "aud", "decision=rejected")
        assert (told["reason"], "PLANTED" in told["text"]) == ("(erased)", False)
        assert (await verify(engine.store, ())).broken == []


def drop(table: str) -> Steps[None]:
    yield Last([Statement(f"DELETE FROM {table}")])


async def test_a_page_of_long_calls_ends_earlier_and_nothing_is_left_out(
    store: FullStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_reader, "MOST_BYTES", 300)
    monkeypatch.setattr("agui_gate.extras.audit.entries.MOST_BYTES", 60)
    async with Desk(PEOPLE | BEN2, **PAIR).open(store) as desk:
        for who, thread in (("ada", "t"), ("bob", "b"), ("ada", "c")):
            approval_id = await desk.ask(who, thread=thread)
            await desk.decide("cat", approval_id, False)
        for who, number in (("aud", 9), ("ada", 6), ("cat", 3)):
            seen: list[Json] = []
            cursor: str | None = ""
            pages = 0
            while cursor is not None:
                query = f"limit=100&cursor={cursor}"
                page = (await desk.get(who, "/audit", query)).json()
                seen, cursor, pages = seen + page["entries"], page["next_cursor"], pages + 1
            kinds = [one for one in seen if one["kind"] in ("asked", "shown", "rejected")]
            assert len(kinds) == len({(one["thread_key"], one["seq"]) for one in kinds}) == number, who
            assert pages > 1
            lines = (await desk.get(who, "/audit", "format=jsonl")).body.decode().splitlines()
            assert [json.loads(line) for line in lines] == seen
