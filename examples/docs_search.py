"""Lesson 6: many calls in one turn, some of them gated. No MCP server is involved.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve docs_search:agent
    # "How do I rotate the signing keys? Look everywhere, including the runbooks."

Models like to search widely: a sentence first, then seven calls at once, say four searches of the public pages and
three of the runbooks, which the user has to agree to. The four run at once and in parallel; the run ends with three
questions. They may be answered together, one by one, differently, or not at all: every call gets its one result under
its own id, and the next request is legal for the provider. (Where servers lost track of which of the calls were
approved, the provider answered 400 "No tool output found": microsoft/agent-framework#6894.)
"""

from agui_gate import Agent, Gate, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

PAGES = {
    "keys": "Signing keys live in the vault and are rotated every 90 days.",
    "vault": "The vault's CLI is `vaultctl`; it needs a fresh login.",
    "releases": "Releases are signed with the current key.",
}
RUNBOOKS = {
    "rotate keys": "1. vaultctl login  2. vaultctl rotate signing  3. Restart the signers.",
    "roll back": "vaultctl restore signing --previous, within 24 hours.",
}


def matching(texts: dict[str, str], query: str) -> list[dict]:
    """Every text that has one of the query's words in its title or in itself."""
    words = query.lower().split()
    found = {title: text for title, text in texts.items() if any(word in f"{title} {text}".lower() for word in words)}
    return [{"title": title, "text": text} for title, text in found.items()]


@tool
async def search_pages(query: str) -> list[dict]:
    """Search the public documentation."""
    return matching(PAGES, query)


@tool(gate=Gate(message="Look into the runbooks for “{query}”?"))
async def search_runbooks(query: str) -> list[dict]:
    """Search the operators' runbooks, which are confidential."""
    return matching(RUNBOOKS, query)


agent = Agent(
    name="docs",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="Say what you are going to look for, then make all searches at once. Answer from what was found.",
    tools=[search_pages, search_runbooks],
    examples=["How do I rotate the signing keys? Look everywhere, including the runbooks."],
)
