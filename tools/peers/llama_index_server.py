"""LlamaIndex behind `agui-gate check`, at `/run`. ``pip install llama-index-protocols-ag-ui fastapi uvicorn``."""

import os

import uvicorn
from chat_stub import MODEL, served
from fastapi import FastAPI
from llama_index.llms.openai import OpenAI
from llama_index.protocols.ag_ui.router import get_ag_ui_workflow_router

PORT = int(os.environ.get("PORT", "8906"))


def search(q: str) -> str:
    """Search."""
    return f"found {q}"


def agui_check_colour(colour: str) -> str:
    """Show a colour to the user."""
    return f"shown {colour}"


llm = OpenAI(model=MODEL, api_base=served(PORT + 100), api_key="k")
app = FastAPI()
app.include_router(get_ag_ui_workflow_router(llm=llm, backend_tools=[search], frontend_tools=[agui_check_colour]))

if __name__ == "__main__":
    uvicorn.run(app, port=PORT, log_level="warning")
