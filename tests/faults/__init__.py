"""What providers and networks do to a stream, byte by byte, and what a person then sees.

| module | what |
|---|---|
| `raw` | a provider that does what a fault says, then passes requests on to the strict emulator |
| `answers` | an answer in each API's own words, piece by piece |
| `fault` | one line of the table: what happens on the wire, and what must come of it |
| `refusals`, `framing`, `streams`, `calls` | the table |
"""
