"""LangGraph's AG-UI adapter behind `agui-gate check`. ``pip install ag-ui-langgraph fastapi uvicorn``."""

import json
import os
import uuid

import uvicorn
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

CALLS = {
    "your own tools": ("search", {"q": "x"}),
    "agui_check_colour": ("agui_check_colour", {"colour": "blue"}),
    "approved": ("refund", {"order": "A1"}),
    "whose it is": ("owner", {"order": "A1"}),
}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Script(GenericFakeChatModel):
    """Call the tool that the words ask for; speak otherwise."""

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        last = messages[-1]
        said = str(last.content) if isinstance(last, HumanMessage) else ""
        message_id = f"run-{uuid.uuid4()}"
        for words, (name, arguments) in CALLS.items():
            if words in said:
                call = {"name": name, "args": json.dumps(arguments), "id": f"call-{uuid.uuid4()}", "index": 0}
                chunk = ChatGenerationChunk(
                    message=AIMessageChunk(
                        content="", id=message_id, tool_call_chunks=[{**call, "type": "tool_call_chunk"}]
                    )
                )
                if run_manager:
                    run_manager.on_llm_new_token("", chunk=chunk)
                yield chunk
                return
        for _ in range(200 if "two hundred" in said else 3):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content="word ", id=message_id))
            if run_manager:
                run_manager.on_llm_new_token("word ", chunk=chunk)
            yield chunk


model = Script(messages=iter([]))


class State(MessagesState):
    """What AG-UI's adapter puts in: the page's tools. And how often the model was asked."""

    tools: list
    turns: int


async def think(state: State) -> dict:
    """One turn of the model."""
    return {"messages": [await model.ainvoke(state["messages"])], "turns": state.get("turns", 0) + 1}


def act(state: State) -> dict:
    """Run the server's own tools; ask before a refund, and for a name."""
    told = []
    for call in state["messages"][-1].tool_calls:
        if call["name"] == "refund":
            answer = interrupt({"question": "Refund A1?"})
            told.append(ToolMessage(f"answered {answer}", tool_call_id=call["id"]))
        elif call["name"] == "owner":
            answer = interrupt({"question": "Whose is A1?", "responseSchema": NAME})
            told.append(ToolMessage(f"answered {answer}", tool_call_id=call["id"]))
        elif call["name"] == "search":
            told.append(ToolMessage("found", tool_call_id=call["id"]))
    return {"messages": told}


def where(state: State) -> str:
    """To the tools, or to the end: a page's call is the page's."""
    last = state["messages"][-1]
    own = isinstance(last, AIMessage) and any(call["name"] in ("search", "refund", "owner") for call in last.tool_calls)
    return "act" if own else END


graph = StateGraph(State)
graph.add_node("think", think)
graph.add_node("act", act)
graph.add_edge(START, "think")
graph.add_conditional_edges("think", where)
graph.add_edge("act", "think")

app = FastAPI()
agent = LangGraphAgent(name="check", graph=graph.compile(checkpointer=MemorySaver()), emit_interrupt_outcome=True)
add_langgraph_fastapi_endpoint(app, agent, "/")
older = LangGraphAgent(name="older", graph=graph.compile(checkpointer=MemorySaver()))
"""It asks by a custom event, as all do by themselves."""
add_langgraph_fastapi_endpoint(app, older, "/older")

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8902")), log_level="warning")
