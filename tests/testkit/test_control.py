"""Scripts, the journal, and the control routes."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from agui_gate_adapters.testkit import Emulator, EmulatorTransport, ScriptError, load_script
from tests.testkit.driving import MODEL, TOOL, answer, call, output, refusal, say

HEADERS = {"authorization": "Bearer k"}


@pytest.mark.parametrize(
    "script",
    [
        "not json",
        {"turn": []},
        [{"output": [{"type": "speech"}]}],
        [{"output": [{"type": "function_call"}]}],
        [{"fault": {"kind": "explode"}}],
        [{"status": "done"}],
        42,
    ],
)
def test_a_wrong_script_is_an_error(script: Any) -> None:
    with pytest.raises(ScriptError):
        load_script(script)


def test_scripts_come_as_data_text_or_file(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('[{"output": [{"type": "message", "text": "hi"}]}]')
    assert load_script(file) == load_script(file.read_text()) == load_script([say("hi")])


def test_conditions_pick_the_turn() -> None:
    emulator = Emulator(
        [
            say("refunded", when={"has_output_for": "refund"}),
            say("weather", when={"user": "RAIN"}),
            {"output": [call(call_id="call_a")], "when": {"has_tool": "refund"}},
            say("other", repeat=True),
        ]
    )
    first = answer(emulator, input="please", tools=[TOOL])
    assert first["output"][0]["type"] == "function_call"
    texts = [
        answer(emulator, previous_response_id=first["id"], input=[output("call_a")]),
        answer(emulator, input="Will it rain?"),
        answer(emulator, input="Will it rain?"),
        answer(emulator),
    ]
    assert [text["output"][0]["content"][0]["text"] for text in texts] == ["refunded", "weather", "other", "other"]


def test_after_the_last_turn() -> None:
    emulator = Emulator([say("only")])
    answer(emulator)
    assert refusal(emulator)[1]["code"] == "emulator_script_exhausted"
    emulator.load({"turns": [], "then": "brain"})
    assert answer(emulator)["status"] == "completed"


def test_the_journal_keeps_what_was_sent_and_what_was_answered() -> None:
    emulator = Emulator([say("hi")])
    first = answer(emulator, input="x", metadata={"a": "b"})
    refusal(emulator, previous_response_id="resp_nope")
    accepted, refused = emulator.journal.entries
    assert (accepted.accepted, accepted.response_id, accepted.ended) == (True, first["id"], "completed")
    assert accepted.body == {"model": MODEL, "input": "x", "metadata": {"a": "b"}}
    assert (refused.rule, refused.status, refused.error["code"]) == ("R6", 400, "previous_response_not_found")  # type: ignore[index]  # refused entries have an error


@pytest.mark.anyio
async def test_control_routes() -> None:
    emulator = Emulator([say("hi")])
    transport = EmulatorTransport(emulator)
    async with httpx2.AsyncClient(transport=transport, base_url="http://emulator", headers=HEADERS) as http:
        body = {"model": MODEL, "input": "x"}
        made = (await http.post("/v1/responses", json=body)).json()
        exhausted = (await http.post("/v1/responses", json=body)).json()
        journal = (await http.get("/emulator/journal")).json()
        assert (await http.put("/emulator/script", json=[say("a"), say("b")])).json() == {"turns": 2}
        assert (await http.put("/emulator/script", json=[{"no": 1}])).status_code == 400
        assert (await http.post("/emulator/clock", json={"advance": 31 * 86_400})).status_code == 200
        assert (await http.post("/emulator/clock", json={})).status_code == 400
        late = await http.post("/v1/responses", json={**body, "previous_response_id": made["id"]})
        assert (await http.post("/emulator/reset")).json() == {"ok": True}
        empty = (await http.get("/emulator/journal")).json()
    assert exhausted["error"]["code"] == "emulator_script_exhausted"
    assert (journal["accepted"], journal["refused"]) == (1, 1)
    assert journal["entries"][0]["response_id"] == made["id"]
    assert late.json()["error"]["code"] == "previous_response_not_found"
    assert empty == {"entries": [], "accepted": 0, "refused": 0}


@pytest.mark.anyio
@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"null", b"1" * 5000])
async def test_bodies_that_are_not_objects(raw: bytes) -> None:
    transport = EmulatorTransport(Emulator([say("hi")]))
    async with httpx2.AsyncClient(transport=transport, base_url="http://emulator/v1", headers=HEADERS) as http:
        for path in ("/responses", "/conversations"):
            reply = await http.post(path, content=raw)
            if not (path == "/conversations" and raw == b""):
                assert reply.status_code == 400
                assert reply.json()["error"]["message"].startswith("We could not parse the JSON body")
