"""A transcript as messages. Pure, and legal whatever the transcript is.

Each assistant turn becomes one message, directly followed by one `tool` message a call. Outputs are nested in their
turn, so none can be missing, stray or doubled (C1-C3). An id belongs to its turn alone. It is sent as the provider made
it where this very provider made it, since some models are confused by other ids. It is minted anew, from what it names,
where it is another's, illegal here, or was there before in the same turn. So the same transcript always gives the same
messages (prompt caches).

Calls are sent with the arguments that really ran, edits included (B11): the provider has no copy of its own.
"""

from agui_gate.adapter import AssistantTurn, SettledCall, Text, TextPart, Transcript, UserTurn, retold
from agui_gate_adapters.common.failures import dropped

from .call_ids import call_ids
from .content import user_message
from .profiles import Profile
from .reasoning import replayed
from .wire import Body

_GO_ON = "(Go on.)"


def messages(transcript: Transcript, instructions: str, profile: Profile, origin: str) -> list[Body]:
    """All messages, the instructions first; never none at all (C7). ``origin`` is whose private parts may be used."""
    made: list[Body] = []
    if instructions:
        made.append({"role": "developer" if profile.developer else "system", "content": instructions})
    before = 0
    for turn in transcript:
        if isinstance(turn, UserTurn):
            if profile.reply_after_tools and made and made[-1]["role"] == "tool":
                made.append({"role": "assistant", "content": "…"})
            made.append(user_message(turn, profile))
        else:
            made += _assistant(turn, profile, ours=turn.origin == origin, before=before)
            before += len(turn.local_calls)
    if made and made[-1]["role"] == "assistant":
        # A call that another provider would have run was answered. Mistral refuses a conversation that ends with the
        # assistant, llama.cpp would go on with the very words.
        made.append({"role": "user", "content": _GO_ON})
    if profile.one_system:
        made = _one_system(made)
    return made or [{"role": "user", "content": ""}]


def _one_system(made: list[Body]) -> list[Body]:
    """The same messages with at most one of the system's, which is the first."""
    first = next((place for place, message in enumerate(made) if message["role"] != "system"), len(made))
    joined = "\n\n".join(message["content"] for message in made[:first])
    later = [message | {"role": "user"} if message["role"] == "system" else message for message in made[first:]]
    return [{"role": "system", "content": joined}, *later] if first else later


def _assistant(turn: AssistantTurn, profile: Profile, *, ours: bool, before: int) -> list[Body]:
    """One turn; nothing if it says nothing. ``before`` is how many calls there were in earlier turns."""
    text = _text(turn, ours=ours)
    calls = turn.local_calls
    if not text and not calls:
        return []
    message: Body = {"role": "assistant", "content": text or profile.empty_content}
    message |= replayed(turn, profile, ours=ours)
    if not calls:
        return [message]
    ids = call_ids(turn.id, calls, profile.call_ids, ours=ours, before=before)
    message["tool_calls"] = [_call(call_id, call) for call_id, call in zip(ids, calls, strict=True)]
    return [message, *(_output(call_id, call) for call_id, call in zip(ids, calls, strict=True))]


def _text(turn: AssistantTurn, *, ours: bool) -> str:
    """What was said, and what the provider ran itself. Our own pieces were one text; others' are paragraphs."""
    pieces = []
    for part in turn.parts:
        if isinstance(part, TextPart):
            pieces.append(part.text)
        elif isinstance(part, SettledCall) and not part.part.local:
            pieces.append(retold(part))
    return ("" if ours else "\n\n").join(piece for piece in pieces if piece)


def _call(call_id: str, call: SettledCall) -> Body:
    function = {"name": call.part.name, "arguments": call.arguments or "{}"}
    return {"id": call_id, "type": "function", "function": function}


def _output(call_id: str, call: SettledCall) -> Body:
    if call.output.parts is not None:  # results are text here
        dropped(call.output, sum(isinstance(part, Text) for part in call.output.parts))
    return {"role": "tool", "tool_call_id": call_id, "content": call.output.content}
