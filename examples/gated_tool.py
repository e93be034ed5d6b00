"""Lesson 2: a gated tool waits for a person.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve gated_tool:agent                                          # ask, and click the card on the page
    agui-gate run gated_tool:agent --message "Delete my file notes-2019.txt"  # or be asked in the terminal

When the model calls `delete_file`, the run ends and shows what is asked: as an interrupt, or as a `confirm_changes`
card where the page has one. The call is kept in the store, so the answer may come after a restart. Approved, it runs
once, with exactly the arguments that were shown, however often the answer is sent. Rejected, the model is told so.
`list_files` has no gate and runs at once.
"""

from agui_gate import Agent, Gate, ToolContext, ToolError, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

FILES = {"notes-2019.txt", "taxes.pdf", "cat.jpg"}


@tool
def list_files() -> list[str]:
    """The user's files."""
    return sorted(FILES)


# `gate=True` is enough; a Gate says more. `{file}` in the message is the argument of that name.
@tool(gate=Gate(message="Delete {file} for good?", expires_after=3600))
def delete_file(file: str, ctx: ToolContext) -> str:
    """Delete a file of the user."""
    if file not in FILES:
        raise ToolError(f"There is no file {file}.")
    FILES.remove(file)
    return f"{file} was deleted, as {ctx.principal} wished."


agent = Agent(
    name="files",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You tidy up the user's files. Just call the tools; the user is asked before anything is deleted.",
    tools=[list_files, delete_file],
    examples=["Delete my file notes-2019.txt"],
)
