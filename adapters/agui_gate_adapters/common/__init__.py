"""What adapters have in common: the way to a provider and back, without any provider's vocabulary.

| module | what |
|---|---|
| `sse` | server-sent events out of byte chunks |
| `halves` | characters that a server cut in two, whole again |
| `stream` | one turn: request, bytes, model events, and what is tried again |
| `large` | large requests: gone through beside the event loop, written and sent in pieces |
| `recovery` | what may be tried again |
| `failures` | what a provider's "no" means |
| `transport`, `openai_transport` | requests through a vendor's SDK, bytes read by us |
| `repeating` | requests like the one that an SDK made first |
| `error_bodies` | error replies, read only as far as needed |
| `ids` | call ids where a transcript's own don't fit |
| `names` | tools' names where a provider doesn't take them |
| `edits` | what a model is told of a call that a person changed |
| `media` | what a provider says about attachments, and which one it means |
| `doctor` | one question to the provider, for `agui-gate doctor` |
"""
