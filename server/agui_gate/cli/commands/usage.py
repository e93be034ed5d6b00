"""`agui-gate usage`: what requests to models have used and cost, as the store has it."""

from collections import Counter
from typing import Any

import click
import msgspec

from agui_gate.cli.interrupts import run
from agui_gate.cli.program import json_option
from agui_gate.cli.store_access import opened, store_options
from agui_gate.cli.terminal.console import print_hint, table
from agui_gate.config.settings import Settings
from agui_gate.core.principals import owner_key
from agui_gate.errors import ConfigurationError, InvalidRequest
from agui_gate.extra_loader import load
from agui_gate.stores.usage import DAY_MS

MOST_OWNERS = 10
"""Owners of whom it is told what they have used of a budget, where nobody is named."""

HELP = """Tell what requests to models have used and cost, of all tenants or of one.

The store has it where a server ran with AGUI_GATE_USAGE=on. Costs are estimates in US dollars. Days begin at 00:00 UTC.
With AGUI_GATE_BUDGETS it also tells what is used of them today: of one tenant, by --principal, or by the ten who have
used most.

\b
Examples:
  agui-gate usage
  agui-gate usage --by tenant
  agui-gate usage --by principal,model --since 2026-11-01
  agui-gate usage --tenant acme --by agent --csv > usage.csv

Exit codes: 0 success; 1 the store is not available; 2 usage error.
"""


@click.command("usage", help=HELP)
@click.option(
    "--by",
    default="day,provider,model",
    metavar="LIST",
    help="What to group by: day, tenant, principal, agent, provider, model, thread.",
)
@click.option("--since", default="", metavar="DAY", help="The first day.  [default: 30 days]")
@click.option("--until", default="", metavar="DAY", help="The last day.  [default: today]")
@click.option("--tenant", metavar="NAME", help='Only this tenant; "" for owners without one.  [default: all]')
@click.option("--principal", metavar="ID", help="Only requests for this principal.")
@click.option("--agent", metavar="NAME", help="Only requests of this agent.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
@store_options()
def command(
    by: str,
    since: str,
    until: str,
    tenant: str | None,
    principal: str | None,
    agent: str | None,
    as_csv: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """Print a report."""
    if as_csv and as_json:
        raise click.UsageError("Choose one of --csv and --json.")
    days = (by, since, until)
    report = run(_report(settings, days, tenant, principal, agent))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    elif as_csv:
        click.echo(load("usage.report").as_csv(report), nl=False)
    else:
        _print(report)
        if not report["usage"] and not settings.usage:
            print_hint("A server keeps usage if AGUI_GATE_USAGE is on. It isn't in these settings.")


async def _report(
    settings: Settings, days: tuple[str, str, str], tenant: str | None, principal: str | None, agent: str | None
) -> dict[str, Any]:
    from agui_gate.stores.sql.usage import ledger_of

    report = load("usage.report")
    async with opened(settings) as store:
        ledger = ledger_of(store)
        if ledger is None:
            raise ConfigurationError("This store keeps no usage.")
        tenants = await ledger.tenants() if tenant is None else [tenant]
        try:
            asked = report.wanted(*days, {"principal": principal, "agent": agent}, store.now())
            if len(tenants) > 1 and {"principal", "thread"} & {*asked.by} and "tenant" not in asked.by:
                asked = msgspec.structs.replace(asked, by=("tenant", *asked.by))  # two may have one of the same name
            found: dict[str, Any] = await report.usage_report(ledger, asked, "of_tenant", tenants)
        except InvalidRequest as error:
            raise click.UsageError(error.message) from None
        if settings.budgets:
            budgets = load("usage.budgets").Budgets(settings.budgets, ledger, store)
            one = tenants[0] if len(tenants) == 1 else ""
            owners = [owner_key(one, principal)] if principal else await _owners(ledger, one, store.now())
            told = await budgets.report(one, owners)
            found["budgets"] = [it for it in told if len(tenants) < 2 or it["scope"] in ("run", "all")]
        return found


async def _owners(ledger: Any, tenant: str, now: int) -> list[str]:
    """Returns the owners of a tenant who have used most today, at most `MOST_OWNERS`."""
    lines, _ = await ledger.days("of_tenant", tenant, now // DAY_MS, now // DAY_MS)
    used: Counter[str] = Counter()
    for line in lines:
        used[line.owner] += line.sums.input + line.sums.output
    return [owner for owner, _ in used.most_common(MOST_OWNERS)]


def _print(report: dict[str, Any]) -> None:
    if not report["usage"]:
        click.echo(f"Nothing was used from {report['since']} to {report['until']}.")
        _print_budgets(report)
        return
    shown = ("requests", "failed", "input_tokens", "output_tokens", "cost")
    rows = [[*report["by"], *shown]]
    total = {**dict.fromkeys(report["by"], ""), report["by"][0]: "total", **report["total"]}
    rows += [
        [*(str(line[group]) for group in report["by"]), *(_figure(line[name]) for name in shown)]
        for line in [*report["usage"], total]
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = len(report["by"])
    for row in rows:
        cells = [
            cell.ljust(width) if place < texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())
    if number := report["total"]["unpriced"]:
        has = f"{number:,} of these requests {'has' if number == 1 else 'have'}"
        print_hint(f'{has} no price, and no cost: set AGUI_GATE_PRICES, or pip install "agui-gate[prices]".')
    _print_budgets(report)


def _print_budgets(report: dict[str, Any]) -> None:
    """Prints what is spent or reserved today of the budgets of the settings; those of a run are in its process."""
    rows = [
        (" ".join(filter(None, (one["scope"], used["of"]))), _amount(one, used["used"]), _amount(one, one["most"]))
        for one in report.get("budgets", ())
        for used in one["used"]
    ]
    if rows:
        click.echo(f"\n{table(rows, ('BUDGET', 'TODAY', 'OF'))}")


def _amount(budget: dict[str, Any], number: float) -> str:
    return f"${number:,.4f}" if budget["unit"] == "dollars" else f"{number:,} tokens"


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    return f"${value:,.4f}" if isinstance(value, float) else f"{value:,}"
