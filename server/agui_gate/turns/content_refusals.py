"""Leaves out what a provider refuses for its content, so that a refusal ends one request and not the thread.

| refused | what follows |
|---|---|
| an attachment (`MediaRefused`) | the request once more without it, then once more without any |
| what was said (`ContentRefused`) | the run fails; what was new in it is left out from then on |
| a conversation that is too long (`ContextLength`) | as above, of the longest of what was new, or of all |
| the key, the model, a tool's schema, … | the run fails; nothing is left out, since the content was not the reason |

What is left out is a note to the model in its place, and an entry of the journal (`LeftOutEntry`). So the thread
remembers, also after a restart. People still see the message, and editing it sends it as it then is. Attachments are
only remembered once a request without them was accepted, as a refusal may have had another reason.

Nothing is asked again that says yes to a held call, unless the provider is known not to have acted (see `Consents`).
"""

from collections.abc import Iterable, Iterator, Sequence

from agui_gate.core import events as ev
from agui_gate.core.media import FOREIGN, is_foreign, normal, placeholder
from agui_gate.core.sanitizer import carrying
from agui_gate.core.transcript import (
    Content,
    Entry,
    LeftOutEntry,
    Media,
    ResultEntry,
    UserEntry,
)
from agui_gate.errors import ContentRefused, ContextLength, MediaRefused, ProviderError
from agui_gate.turns.steps import Draft, Speaker, TurnStep


def left_out(entry: LeftOutEntry) -> ev.Custom:
    """Returns the event that tells the client of something that is left out."""
    where = {"callId": entry.call_id} if entry.call_id else {"messageId": entry.message_id}
    part = {} if entry.part is None else {"part": entry.part}
    return ev.Custom("agui-gate:left_out", {**where, **part, "message": entry.note})


def foreign(entries: Iterable[Entry], vendor: str) -> list[LeftOutEntry]:
    """Returns notes about file handles that are not this ``vendor``'s. Not kept: another agent's model may read
    them.
    """
    found = (one for entry in entries for one in attached(entry, FOREIGN))
    return [left for left, media in found if is_foreign(media, vendor)]


class ContentRefusals(TurnStep):
    """The step that leaves refused content out of a request, more with each refusal. It comes first of all."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker, self._thread = speaker, speaker.thread
        self._entries: list[LeftOutEntry] = []
        self._accepted = self._all = False

    async def prepare(self) -> None:
        """Withholds nothing yet."""
        self._entries, self._accepted, self._all = [], False, False

    async def request(self, draft: Draft) -> None:
        """Leaves out what was refused."""
        if self._entries:
            transcript = self._thread.history.transcript(self._speaker.member.to, self._entries)
            draft.transcript = carrying(transcript, self._thread.journal.consents())

    async def accepted(self) -> None:
        """Leaves out from now on what an accepted request went without."""
        if self._entries and not self._accepted:
            self._leave_out(self._entries)
        self._accepted = True

    def refused(self, error: ProviderError) -> bool:
        """Withholds what was refused, if nothing was accepted yet. What a message says is left out from now on."""
        if isinstance(error, MediaRefused):
            unsure = error.accepted and self._speaker.approvals.passing
            if self._accepted or unsure or not self._withhold(error):
                return False
            if error.accepted or self._all:  # what is refused may be in what the provider remembers
                self._speaker.continuation.ref = None
            return True
        # A task has no messages of the user's.
        if isinstance(error, ContentRefused | ContextLength) and not self._speaker.member.who.task:
            from agui_gate.turns.refused_content import blamed

            self._leave_out(blamed(self._thread, error))
        return False

    def _leave_out(self, entries: Sequence[LeftOutEntry]) -> None:
        self._thread.append(entries)
        for entry in entries:
            self._speaker.lane.other(left_out(entry))

    def _withhold(self, refused: MediaRefused) -> bool:
        """Withholds what was refused; False if there is nothing more to withhold."""
        if self._all:
            return False
        from agui_gate.turns.refused_content import withheld

        found, self._all = withheld(self._thread.entries, self._entries, refused)
        self._entries += found
        return bool(found)


def attached(entry: Entry, reason: str) -> Iterator[tuple[LeftOutEntry, Media]]:
    """Yields the attachments of a message or a result, each with a note that says why it is left out."""
    content: Sequence[Content] = ()
    message_id = call_id = ""
    if isinstance(entry, UserEntry):
        content, message_id = entry.content, entry.id
    elif isinstance(entry, ResultEntry):
        content, call_id = entry.output.parts or (), entry.call_id
    for place, part in enumerate(content):
        if isinstance(part, Media) and part.value:
            yield LeftOutEntry(placeholder(normal(part), reason), message_id, place, call_id), part
