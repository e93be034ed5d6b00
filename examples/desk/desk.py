"""A support desk: an agent in FastAPI, for people of a login service, on PostgreSQL. README.md says more.

agui-gate serve desk:app
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from fastapi import FastAPI
from psycopg.rows import dict_row

from agui_gate import Agent, Gate, Ruling, ToolContext, create_app, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

DATABASE = os.environ["DESK_DATABASE"]
VOUCHERS_A_DAY = 50

TABLES = """
CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT, item TEXT, amount NUMERIC, overdue BOOLEAN);
CREATE TABLE IF NOT EXISTS payments (key TEXT PRIMARY KEY, kind TEXT, what TEXT, amount NUMERIC, asked_by TEXT);
"""


async def ask(statement: str, *values: Any) -> list[dict[str, Any]]:
    """Runs a statement, and returns its rows."""
    async with await psycopg.AsyncConnection.connect(DATABASE, row_factory=dict_row) as connection:
        cursor = await connection.execute(statement.encode(), values)
        return await cursor.fetchall() if cursor.description else []


async def pay(kind: str, what: str, amount: float, ctx: ToolContext) -> str:
    """Writes a payment down, once for each call: the key stays the same, whatever happens in between."""
    await ask(
        "INSERT INTO payments VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        *(ctx.idempotency_key, kind, what, amount, str(ctx.principal)),
    )
    return f"{kind} of {amount:g} € for {what} is on its way"


@tool
async def find_orders(customer: str) -> list[dict[str, Any]]:
    """Find a customer's orders."""
    return await ask("SELECT id, item, amount::float FROM orders WHERE customer = %s ORDER BY id", customer)


def small(arguments: dict[str, Any], ctx: Any) -> Ruling:
    """Lets vouchers go up to 50 € a day for each customer desk, and asks finance about the rest."""
    spent = ctx.spent("send_voucher", "amount", hours=24)
    return Ruling.allow() if spent + arguments["amount"] <= VOUCHERS_A_DAY else Ruling.ask()


@tool(gate=Gate(when=small, approvers="finance", message="Voucher of {amount} € for {customer}?"))
async def send_voucher(customer: str, amount: float, ctx: ToolContext) -> str:
    """Send a customer a voucher."""
    return await pay("voucher", customer, amount, ctx)


@tool(
    gate=Gate(
        approvers="finance",
        editable=["amount"],
        expires_after=86_400,
        remind=[3600],
        escalate=[(4 * 3600, "team-lead")],
        message="Refund {amount} € of order {order_id}?",
    )
)
async def refund(order_id: str, amount: float, ctx: ToolContext) -> str:
    """Refund an order."""
    return await pay("refund", order_id, amount, ctx)


agent = Agent(
    name="desk",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You help the people of a support desk with customers' orders.",
    tools=[find_orders, send_voucher, refund],
)
gate = create_app(agent)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    """Makes the tables, and starts what is mounted."""
    for table in TABLES.split(";\n"):
        await ask(table)
    async with gate.router.lifespan_context(gate):
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/payments")
async def payments() -> list[dict[str, Any]]:
    """A route of the desk's own."""
    return await ask("SELECT kind, what, amount::float, asked_by FROM payments ORDER BY kind, what")


app.mount("/", gate)
