"""The parts that adapters share: the way to a provider and back, without any provider's vocabulary.

| module | contents |
|---|---|
| `provider_turn` | one turn: request, bytes, model events, and retries; characters that were cut in two are joined |
| `retries` | what is retried, and after which wait |
| `failures` | what a provider's error means, also about attachments and content |
| `transport`, `openai_transport` | requests through a vendor's SDK; the bytes are read here |
| `http` | requests without an SDK |
| `wire`, `sockets` | the connections of these: HTTP/1.1 on httptools |
| `large_requests` | large requests: processed off the event loop, written and sent in pieces, and not made twice |
| `json_decoder` | a provider's JSON as structs |
| `names` | tools' names and call ids that a provider accepts |
| `decisions` | what a provider is told of people's decisions |
| `output_schemas` | the subset of JSON Schema that providers enforce |
| `doctor` | one question to the provider, for `agui-gate doctor` |
"""
