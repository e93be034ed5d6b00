"""CrewAI's AG-UI adapter behind `agui-gate check`. ``pip install ag-ui-crewai uvicorn``."""

import json
import os

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")

import uvicorn
from ag_ui_crewai import (
    CopilotKitState,
    add_crewai_flow_fastapi_endpoint,
    copilotkit_emit_tool_result,
    copilotkit_stream,
)
from chat_stub import MODEL, served
from crewai.flow.flow import Flow, start
from fastapi import FastAPI
from litellm import acompletion

PORT = int(os.environ.get("PORT", "8908"))
URL = served(PORT + 100)
SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Search.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    },
}


class Check(Flow[CopilotKitState]):
    """A model with a tool of its own and the page's."""

    @start()
    async def chat(self) -> None:
        """Ask the model, run the own tool, and ask again."""
        for _ in range(2):
            stream = await acompletion(
                model=f"openai/{MODEL}",
                api_base=URL,
                api_key="k",
                messages=[*self.state.messages],
                tools=[*self.state.copilotkit.actions, SEARCH],
                stream=True,
            )
            message = (await copilotkit_stream(stream)).choices[0].message
            self.state.messages.append(message)
            own = [call for call in message.get("tool_calls") or () if call["function"]["name"] == "search"]
            if not own:
                return
            for call in own:
                result = f"found {json.loads(call['function']['arguments'])['q']}"
                self.state.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
                await copilotkit_emit_tool_result(tool_call_id=call["id"], content=result)


app = FastAPI()
add_crewai_flow_fastapi_endpoint(app, Check(), "/")

if __name__ == "__main__":
    uvicorn.run(app, port=PORT, log_level="warning")
