"""`agui-gate doctor`: one line a finding, and exit code 1 if something is broken."""

import asyncio
import os
import re
from pathlib import Path

import psycopg
import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import Unavailable
from agui_gate.stores.sqlite import SQLiteStore
from tests.cli.conftest import Cli
from tests.people.issuer import AUDIENCE, ISSUER, public, write
from tests.requirements import shows
from tests.stores.support import ask, gated
from tests.stores.test_migrations import version_1
from tests.support.servers import Postgres, Valkey, free_port


def test_all_is_well(cli: Cli) -> None:
    result = cli("doctor", "cli_shop:agent", "--store", "sqlite:///x.db")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "✓ settings: valid, 1 set by you",
        "✓ access: this machine only, as no tokens are set",
        "✓ page: its files are installed",
        "✓ cli_shop:agent: 1 agent with 1 tool, 1 of them gated",
        "✓ store: sqlite:///x.db is empty; a server creates its tables when it starts",
        "✓ bus: memory://",
        "✓ shop: model: answers",
    ]


LONG = "0123456789abcdef"


@pytest.mark.parametrize(
    ("target", "tokens", "why"),
    [
        ("by_role", "ada cat", "it waits for finance, and nobody of ada, cat can be that"),
        ("by_role", "", "it waits for finance, and nobody of local can be that"),
        ("by_id", "cat", "it waits for cat, and nobody of cat can be that"),
        ("by_id", "ada cat", None),
        ("by_two", "ada cat", "it waits for 2 persons: cat, dan, and only 1 of ada, cat can be that"),
        ("by_two", "ada cat dan", None),
        ("by_own_two", "ada cat", "it waits for 2 persons: somebody else, and only 1 of ada, cat can be that"),
        ("by_own_id", "ada cat", None),
        ("by_login", "ada cat", "it asks how somebody logged in (max_auth_age, acr), and of ada, cat that isn't known"),
    ],
)
def test_a_gate_that_nobody_can_satisfy_is_said(cli: Cli, target: str, tokens: str, why: str | None) -> None:
    named = ",".join(f"{name}:{LONG}{name}" for name in tokens.split())
    env = {"AGUI_GATE_TOKENS": named} if named else {}
    result = cli("doctor", f"cli_people:{target}", "--store", "memory://", env=env)
    expected = f"! gate of refund: nobody can approve its calls: {why}\n  → Name people" if why else ""
    assert (expected in result.stdout, "gate of" in result.stdout) == (True, why is not None), result.stdout
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("target", "roles", "is_said"),
    [("by_role", "", True), ("by_role", "groups", False), ("by_id", "", False), ("by_login", "", False)],
)
def test_so_is_one_that_waits_for_a_role_where_signed_tokens_have_none(
    cli: Cli, tmp_path: Path, target: str, roles: str, is_said: bool
) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text('{"keys": []}')
    env = {
        "AGUI_GATE_JWT_ISSUER": "https://id.example",
        "AGUI_GATE_JWT_AUDIENCE": "desk",
        "AGUI_GATE_JWT_JWKS": str(keys),
    }
    result = cli("doctor", f"cli_people:{target}", "--store", "memory://", env=env | {"AGUI_GATE_JWT_ROLES": roles})
    why = "it waits for finance, and no token has roles: AGUI_GATE_JWT_ROLES isn't set"
    assert (f"! gate of refund: nobody can approve its calls: {why}\n" in result.stdout) == is_said
    assert ("nobody can approve" in result.stdout) == is_said


def test_an_application_with_its_own_auth_is_looked_into(cli: Cli) -> None:
    env = {"AGUI_GATE_TOKENS": f"ada:{LONG}", "AGUI_GATE_STORE": "sqlite:////nonexistent/x.db"}
    result = cli("doctor", "cli_people:own_auth", env=env)
    assert result.exit_code == 0, result.stdout
    assert result.stdout.splitlines() == [
        "✓ settings: valid, 2 set by you",
        "✓ access: as the application's auth decides",
        "! tokens: AGUI_GATE_TOKENS is not used: the application has an auth= of its own.",
        "  → Remove the setting, or let auth= check these tokens as well.",
        "✓ page: its files are installed",
        "✓ cli_people:own_auth: 1 agent with 1 tool, 1 of them gated",
        "✓ store: sqlite:///own.db, of the application, is empty; a server creates its tables when it starts",
        "✓ bus: memory://, of the application",
    ]
    assert cli("migrate", "--store", "sqlite:///own.db").exit_code == 0
    result = cli("doctor", "cli_people:own_auth")
    assert "✓ store: sqlite:///own.db, of the application, opens and can be written; it is empty\n" in result.stdout


def test_it_creates_no_database(cli: Cli, database: str) -> None:
    before = sorted(os.listdir())
    assert cli("doctor").exit_code == 0
    assert sorted(os.listdir()) == before
    missing = cli("doctor", "--store", "sqlite:///folder/x.db")
    assert missing.exit_code == 1
    assert "✗ store: The database folder/x.db can't be created: there is no directory " in missing.stdout
    assert sorted(os.listdir()) == before
    reached = cli("doctor", "--store", database)
    assert "is empty; a server creates its tables when it starts" in reached.stdout
    with psycopg.connect(database) as connection:
        tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
        assert connection.execute(tables).fetchone() == (0,)


def test_a_database_that_is_there_is_opened(cli: Cli) -> None:
    assert cli("migrate", "--store", "sqlite:///x.db").exit_code == 0
    assert (
        "✓ store: sqlite:///x.db opens and can be written; it is empty\n"
        in cli("doctor", "--store", "sqlite:///x.db").stdout
    )
    assert sorted(os.listdir()) == [name for name in sorted(os.listdir()) if not name.endswith(("-wal", "-shm"))]


LOOKING = (
    ("ops", "runs"), ("ops", "freeze", "--reason", "x"), ("freeze", "--list"), ("audit", "verify"), ("usage",),
    ("notifications", "ls"), ("export", "alice"), ("erase", "alice", "--dry-run"),
)  # fmt: skip
OLDER = "was made by an older agui-gate (schema 1; this one makes "


def test_what_an_older_version_made_is_left_to_its_servers_until_it_is_migrated(cli: Cli, tmp_path: Path) -> None:
    file, words = tmp_path / "gate.db", ("--store", "sqlite:///gate.db")
    version_1(str(file))
    before = file.read_bytes()
    for command in LOOKING:
        told = cli(*command, *words)
        assert (told.exit_code, OLDER in told.stderr) == (2, True)
    assert OLDER in cli("doctor", *words).stdout
    assert cli("support-bundle", "b.json", *words).exit_code == 0
    assert OLDER in (tmp_path / "b.json").read_text()
    assert file.read_bytes() == before
    assert cli("migrate", *words).exit_code == 0
    for command in LOOKING:
        assert cli(*command, *words).exit_code == 0


def test_a_database_of_an_older_version_is_left_to_its_servers_too(cli: Cli, database: str) -> None:
    assert cli("migrate", "--store", database).exit_code == 0
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE agui_schema SET version = 1")
    assert OLDER in cli("doctor", "--store", database).stdout
    assert OLDER in cli("ops", "runs", "--store", database).stderr
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT version FROM agui_schema").fetchone() == (1,)


def test_without_a_target_the_provider_is_not_checked(cli: Cli) -> None:
    result = cli("doctor", "--store", "memory://")
    assert result.exit_code == 0
    assert "! provider: not checked\n  → Name a TARGET" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "env", "line", "fix"),
    [
        (["cli_shop:sick"], {}, "✗ sick: model: the key is wrong", "Set another key."),
        (["cli_shop:toolless"], {}, "✗ toolless: MCP server docs: can't be started: there is no", "Start it"),
        (["cli_shop:agnt"], {}, "✗ cli_shop:agnt: cli_shop has no 'agnt'", "Correct TARGET"),
        ([], {"AGUI_GATE_PORT": "x"}, "✗ settings: AGUI_GATE_PORT must be", "Correct it"),
        (
            [],
            {"AGUI_GATE_BUDGETS": "run:$2", "AGUI_GATE_PRICES": "x.json"},
            "✗ settings: AGUI_GATE_PRICES",
            "Correct it",
        ),
        ([], {"AGUI_GATE_HOST": "0.0.0.0"}, "✗ access: open to 0.0.0.0 without auth", "Set AGUI_GATE_TOKENS"),
        (["--store", "sqlite:////nonexistent/x.db"], {}, "✗ store: The database", "Correct --store"),
        (
            ["--store", "memory://"],
            {"AGUI_GATE_BUS": "nats://x"},
            "✗ bus: There is no bus nats://",
            "Correct AGUI_GATE_BUS",
        ),
        (
            [],
            {"AGUI_GATE_BUS": "redis://:s3cr3t@127.0.0.1:1"},
            "✗ bus: The bus redis://127.0.0.1:1 can't be",
            "Correct",
        ),
        ([], {"AGUI_GATE_STORE": "sqlite:////nonexistent/x.db"}, "✗ store: The database", "Correct AGUI_GATE_STORE"),
    ],
)
def test_what_is_broken_has_a_fix(cli: Cli, arguments: list[str], env: dict[str, str], line: str, fix: str) -> None:
    result = cli("doctor", *arguments, env={"AGUI_GATE_STORE": "memory://", **env})
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    found = next(i for i, text in enumerate(lines) if text.startswith(line))
    assert lines[found + 1].startswith(f"  → {fix}")
    assert lines[-1] == "1 problem found."


def test_defaults_are_said_not_to_be_the_settings_of_a_server(cli: Cli) -> None:
    result = cli("doctor")
    assert (
        "! settings: none set by you, so these are the defaults\n  → Name the settings of your server" in result.stdout
    )
    assert result.exit_code == 0


def test_what_an_import_lacks_is_told_by_the_place_in_its_own_file(cli: Cli) -> None:
    Path("paying.py").write_text("import os\n\nurl = os.environ['PAYMENTS']\n")
    result = cli("doctor", "paying:agent", "--store", "memory://")
    assert "✗ paying:agent: Importing paying failed in paying.py line 3: KeyError: 'PAYMENTS'" in result.stdout


def test_a_bus_that_answers_is_named_without_its_password(cli: Cli, valkey: Valkey) -> None:
    valkey.ask("ACL SETUSER alice on >s3cr3t ~* &* +@all")
    url = f"redis://alice:s3cr3t@127.0.0.1:{valkey.port}"
    result = cli("doctor", env={"AGUI_GATE_STORE": "memory://", "AGUI_GATE_BUS": url})
    assert result.exit_code == 0
    assert f"✓ bus: redis://alice:********@127.0.0.1:{valkey.port} answers\n" in result.stdout
    assert "s3cr3t" not in result.output


def test_a_full_disk_is_no_wrong_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(_: SQLiteStore) -> None:
        raise Unavailable("The store is not available: the disk is full.")

    assert cli("migrate", "--store", "sqlite:///x.db").exit_code == 0
    monkeypatch.setattr(SQLiteStore, "check", full)
    result = cli("doctor", "--store", "sqlite:///x.db")
    assert result.exit_code == 1
    assert "✗ store: The store is not available: the disk is full.\n  → Make it available again" in result.stdout


NO_ROOM = """CREATE FUNCTION no_room() RETURNS event_trigger LANGUAGE plpgsql AS
$$ BEGIN
    IF current_setting('temp_tablespaces') <> 'another_disk' THEN RAISE 'no room' USING ERRCODE = '{}'; END IF;
END $$"""
"""The database's own disk is full, and the one of its temporary tables is not."""


@pytest.mark.parametrize(("state", "code"), [("53100", 1), ("42501", 0)], ids=["full", "no right to look"])
def test_a_full_disk_of_postgresql_is_seen_although_a_row_can_be_changed(
    cli: Cli, postgres: Postgres, tables: str, state: str, code: int
) -> None:
    name = tables.rpartition("/")[2]
    postgres.execute(NO_ROOM.format(state), name)
    postgres.execute(f"ALTER DATABASE {name} SET temp_tablespaces = 'another_disk'")
    postgres.execute("CREATE EVENT TRIGGER no_room ON ddl_command_start EXECUTE FUNCTION no_room()", name)
    try:
        told = cli("doctor", "--store", tables)
    finally:
        postgres.execute("DROP EVENT TRIGGER no_room", name)
        postgres.execute("DROP FUNCTION no_room", name)
        postgres.execute(f"ALTER DATABASE {name} RESET temp_tablespaces")
    assert told.exit_code == code, told.output
    assert ("✗ store: The store is not available: the disk of the database is full." in told.stdout) == bool(code)


def test_the_bus_of_a_postgresql_store(cli: Cli, database: str) -> None:
    result = cli("doctor", "--store", database)
    assert (result.exit_code, "✓ bus: the store's database, once it has its tables\n" in result.stdout) == (0, True)
    assert cli("migrate", "--store", database).exit_code == 0
    result = cli("doctor", "--store", database)
    assert (result.exit_code, "✓ bus: the store's database\n" in result.stdout) == (0, True)
    result = cli("doctor", "--store", database, env={"AGUI_GATE_BUS": "memory://"})
    assert "! bus: memory://, although the store is shared\n  → Leave AGUI_GATE_BUS out" in result.stdout
    result = cli("doctor", "--store", "postgresql://:s3cr3t@127.0.0.1:1/x")
    assert result.exit_code == 1
    assert re.search(r"✗ bus: .+\n  → Correct --store, or start what it points at", result.stdout)
    assert "s3cr3t" not in result.output


@shows("T20")
def test_what_can_not_be_told_breaks_nothing(cli: Cli) -> None:
    """T20."""
    result = cli("doctor", "cli_shop:silent", env={"AGUI_GATE_STORE": "memory://"})
    assert result.exit_code == 0
    assert "! silent: model: can't tell\n  → Add --ask, which asks the model. Look at it." in result.stdout
    assert "problem" not in result.stdout


def test_advice_breaks_nothing(cli: Cli) -> None:
    result = cli("doctor", env={"AGUI_GATE_TOKENS": "alice:short", "AGUI_GATE_STORE": "memory://"})
    assert result.exit_code == 0
    assert "! tokens: easy to guess: alice" in result.stdout
    assert "short" not in result.stdout


def test_a_model_that_no_budget_of_dollars_can_count_is_said(cli: Cli, tmp_path: Path) -> None:
    """As advice: the server starts, and says so with the first request."""
    (tmp_path / "prices.json").write_text('{"dated": "x", "models": {}}')
    env = {"AGUI_GATE_BUDGETS": "all:$1", "AGUI_GATE_PRICES": str(tmp_path / "prices.json")}
    result = cli("doctor", "cli_shop:agent", "--store", "sqlite:///x.db", env=env)
    assert result.exit_code == 0
    assert "! price of unknown/rules: there is none\n  → Budgets in dollars don't count it" in result.stdout


def test_a_misspelt_setting_is_broken(cli: Cli) -> None:
    result = cli("doctor", env={"AGUI_GATE_STROE": "x"})
    assert result.exit_code == 1
    assert "✗ settings: AGUI_GATE_STROE is not a setting; did you mean AGUI_GATE_STORE?" in result.stdout


@shows("B9")
@pytest.mark.anyio
async def test_calls_of_which_nobody_knows_what_came_of_them_are_named(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SQLiteStore(str(path))
    await store.start()
    await ask(store, *(gated(f"a{number}") for number in range(9)))
    for number in range(8):
        await store.move(f"a{number}", State.CLAIMED, decision=Decision(True, by="alice", way="http"))
    for number in range(1, 8):
        await store.move(f"a{number}", State.UNKNOWN, output=Output("?", is_error=True))
    await store.aclose()
    result = await asyncio.to_thread(cli, "doctor", "--store", f"sqlite:///{path}")
    assert result.exit_code == 0
    assert "can be written; 1 thread (0.0 MB), 9 approvals (1 pending), " in result.stdout
    assert (
        "! approved, and not running: 1 call: refund (a0, thread t of alice). The process that ran them has ended, "
        "or hangs\n"
        "  → If a server runs here, it settles them within ten seconds. Otherwise start one: docs/runbook/claimed.md.\n"
    ) in result.stdout
    which = ", ".join(f"refund (a{number}, thread t of alice)" for number in range(7, 2, -1))
    assert f"! interrupted while they ran: 7 calls: {which}, 2 more\n  → Check whether they took" in result.stdout
    assert "50" not in result.stdout.replace(str(path), "")


def test_the_keys_of_an_issuer_are_asked_for(cli: Cli) -> None:
    write(Path("keys.json"), public("RS256", "rsa"), public("ES256", "ec"))
    env = {"AGUI_GATE_JWT_ISSUER": ISSUER, "AGUI_GATE_JWT_AUDIENCE": AUDIENCE, "AGUI_GATE_JWT_JWKS": "keys.json"}
    found = cli("doctor", "--store", "memory://", env=env)
    assert (found.exit_code, "✓ keys of the issuer: 2 in its file" in found.stdout) == (0, True), found.stdout
    away = cli("doctor", "--store", "memory://", env={**env, "AGUI_GATE_JWT_JWKS": f"http://127.0.0.1:{free_port()}/"})
    assert away.exit_code == 1
    assert "✗ keys of the issuer: can't be fetched" in away.stdout
    broken = cli("doctor", "--store", "memory://", env={**env, "AGUI_GATE_JWT_JWKS": "https://[id.example/keys"})
    assert broken.exit_code == 1
    assert "✗ keys of the issuer: AGUI_GATE_JWT_JWKS must be a file or an https:// URL." in broken.stdout
