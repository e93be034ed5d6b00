"""The adapters that `test_every_adapter*.py` are about. A new adapter writes a `subject.py` and is named here."""

import pytest

from .anthropic_messages import subject as messages
from .openai_chat import subject as chat
from .openai_responses import subject as responses

_ALL = (responses, chat, messages)

SUBJECTS = [one.SUBJECT for one in _ALL]
PLAIN = [one.PLAIN for one in _ALL]
"""Each as it is without options."""
WAYS = [way for one in _ALL for way in one.WAYS]
"""Those between which the adapters' own code differs most."""
EVERY_WAY = [way for one in _ALL for way in one.EVERY_WAY]
"""And at every kind of server that the emulator knows."""

every_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=str)
every_adapter = pytest.mark.parametrize("way", PLAIN, ids=str)
every_way = pytest.mark.parametrize("way", WAYS, ids=str)
everywhere = pytest.mark.parametrize("way", EVERY_WAY, ids=str)
