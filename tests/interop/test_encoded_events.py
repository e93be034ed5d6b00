"""What the checker reads of the protobuf binding is what the protocol's own encoder writes."""

import json
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
ENCODED = json.loads((HERE.parent / "spec/encoded_events.json").read_text(encoding="utf-8"))


def test_the_encoded_events_are_those_of_the_real_encoder() -> None:
    events = json.dumps([one["event"] for one in ENCODED])
    done = subprocess.run(
        ["node", str(HERE / "encode.mjs")], input=events, capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) == [one["bytes"] for one in ENCODED]
