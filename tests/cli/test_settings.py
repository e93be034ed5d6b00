"""Settings: who wins, what is refused, and that no secret is ever printed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings, load_settings, names
from agui_gate.errors import ConfigurationError
from tests.cli.conftest import Cli
from tests.product.inprocess import Parrot

SECRET = "s3cr3t-value"


def test_defaults() -> None:
    settings = load_settings(environ={})
    assert settings == Settings()
    assert (settings.store, settings.bus, settings.host, settings.port) == (
        "sqlite:///agui-gate.db",
        "",
        "127.0.0.1",
        8000,
    )
    assert {settings.source(name) for name in names()} == {"default"}


def test_an_option_beats_a_variable_beats_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text('store = "sqlite:///file.db"\nport = 1\nhost = "127.0.0.3"\n')
    environ = {"AGUI_GATE_PORT": "2", "AGUI_GATE_HOST": "127.0.0.2"}
    settings = load_settings(file, environ=environ, options={"host": "::1", "bus": None})
    assert (settings.store, settings.port, settings.host) == ("sqlite:///file.db", 2, "::1")
    assert [settings.source(name) for name in ("store", "port", "host", "bus")] == [
        "gate.toml",
        "AGUI_GATE_PORT",
        "--host",
        "default",
    ]


def test_an_empty_variable_is_not_set() -> None:
    assert load_settings(environ={"AGUI_GATE_TOKENS": "", "AGUI_GATE_PORT": ""}) == Settings()


def test_tokens_in_every_form(tmp_path: Path) -> None:
    toml, plain = tmp_path / "a.toml", tmp_path / "a.env"
    toml.write_text('[tokens]\nalice = "A:1"\nbob = "B2"\n')
    plain.write_text("# who may\nexport AGUI_GATE_TOKENS='alice:A:1,bob:B2'\n\nport = \"81\"\n")
    for settings in (
        load_settings(toml, environ={}),
        load_settings(plain, environ={}),
        load_settings(environ={"AGUI_GATE_TOKENS": " alice:A:1 , bob:B2"}),
    ):
        assert settings.tokens == {"alice": "A:1", "bob": "B2"}
    assert load_settings(plain, environ={}).port == 81


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"AGUI_GATE_PORT": "http"}, "AGUI_GATE_PORT must be a whole number from 0 to 65,535, not 'http'."),
        ({"AGUI_GATE_PORT": "70000"}, "AGUI_GATE_PORT must be a whole number"),
        ({"AGUI_GATE_MAX_BODY_BYTES": "4MB"}, "AGUI_GATE_MAX_BODY_BYTES must be a whole number"),
        ({"AGUI_GATE_DIALECT": "2.0"}, 'AGUI_GATE_DIALECT must be "auto", "compat" or "1.0"'),
        ({"AGUI_GATE_STORE": "file.db"}, "AGUI_GATE_STORE must be a URL"),
        ({"AGUI_GATE_BUS": "redis"}, "AGUI_GATE_BUS must be a URL"),
        ({"AGUI_GATE_CORS_ORIGINS": "shop.example"}, "AGUI_GATE_CORS_ORIGINS must be origins"),
        ({"AGUI_GATE_CORS_ORIGINS": "https://shop.example/path"}, "AGUI_GATE_CORS_ORIGINS must be origins"),
        ({"AGUI_GATE_CORS_ORIGINS": "https://["}, "AGUI_GATE_CORS_ORIGINS must be origins"),
        ({"AGUI_GATE_BUS": f"{SECRET}@host"}, "AGUI_GATE_BUS must be a URL"),
        ({"AGUI_GATE_LOG_LEVEL": "loud"}, "AGUI_GATE_LOG_LEVEL must be one of"),
        ({"AGUI_GATE_HOST": "a\x1b[31m"}, "AGUI_GATE_HOST must be a line of text"),
        ({"AGUI_GATE_ALLOWED_HOSTS": "gate:8000"}, "AGUI_GATE_ALLOWED_HOSTS must be plain host names"),
        ({"AGUI_GATE_PAGE": "perhaps"}, "AGUI_GATE_PAGE must be true or false"),
        ({"AGUI_GATE_TOKENS": SECRET}, "AGUI_GATE_TOKENS must be pairs"),
        ({"AGUI_GATE_TOKENS": f"a:{SECRET},a:{SECRET}"}, "AGUI_GATE_TOKENS must give each principal a token"),
        ({"AGUI_GATE_TOKENS": f":{SECRET}"}, "AGUI_GATE_TOKENS must be pairs"),
        ({"AGUI_GATE_JWT_ALGORITHMS": "HS256"}, "AGUI_GATE_JWT_ALGORITHMS must be some of RS256"),
        ({"AGUI_GATE_JWT_ALGORITHMS": "none"}, "AGUI_GATE_JWT_ALGORITHMS must be some of RS256"),
        ({"AGUI_GATE_JWT_LEEWAY": "301"}, "AGUI_GATE_JWT_LEEWAY must be seconds"),
        ({"AGUI_GATE_TOKENS": f"a:{SECRET},b:{SECRET}"}, "AGUI_GATE_TOKENS must give each principal a token"),
        ({"AGUI_GATE_TOKENS": f"a:{SECRET} x"}, "AGUI_GATE_TOKENS must be pairs"),
    ],
)
def test_what_is_wrong_is_named_in_one_sentence(environ: Mapping[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(environ=environ)
    assert caught.value.message.startswith(message)
    assert "\n" not in caught.value.message
    assert SECRET not in caught.value.message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", "port = ", "a.toml is not valid TOML"),
        ("a.toml", f"port = {'[' * 100_000}", "a.toml is nested too deeply"),
        ("a.toml", "port = true", "port in a.toml must be a whole number"),
        ("a.toml", "cors_origins = 3", "cors_origins in a.toml must be a list"),
        ("a.env", "port", "Line 1 of a.env is not NAME=value"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, name: str, content: str, message: str) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=message):
        load_settings(file, environ={})


@pytest.mark.parametrize(("name", "content"), [("a.toml", "port = 9000\n"), ("a.env", "AGUI_GATE_PORT=9000\n")])
def test_a_file_with_a_byte_order_mark(tmp_path: Path, name: str, content: str) -> None:
    file = tmp_path / name
    file.write_text(content, encoding="utf-8-sig")
    settings = load_settings(file, environ={})
    assert settings.port == 9000


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="can't be read: No such file"):
        load_settings(tmp_path / "none.toml", environ={})
    (tmp_path / "latin.env").write_bytes(b"store=\xff")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        load_settings(tmp_path / "latin.env", environ={})


def test_settings_made_in_code_are_checked_too() -> None:
    wrong: Any = "2.0"
    with pytest.raises(ConfigurationError, match="The setting dialect must be"):
        Settings(dialect=wrong)
    assert Settings(cors_origins=("https://a.example/",)).cors_origins == ("https://a.example",)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("AGUI_GATE_TOKEN_FILES", "AGUI_GATE_TOKEN_FILES is not a setting; did you mean AGUI_GATE_TOKENS_FILE?"),
        ("AGUI_GATE_PROT", "AGUI_GATE_PROT is not a setting; did you mean AGUI_GATE_PORT?"),
        ("agui_gate_tokens", "agui_gate_tokens is not a setting; did you mean AGUI_GATE_TOKENS?"),
        ("Agui_Gate_Tokens", "Agui_Gate_Tokens is not a setting; did you mean AGUI_GATE_TOKENS?"),
        ("AGUI_GATE_XYZ", "AGUI_GATE_XYZ is not a setting (docs/settings.md lists them)."),
    ],
)
def test_a_variable_that_is_no_setting_is_an_error(name: str, said: str) -> None:
    """A misspelt AGUI_GATE_TOKENS would leave the server open."""
    with pytest.raises(ConfigurationError) as caught:
        load_settings(environ={name: f"alice:{SECRET}"})
    assert caught.value.message == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stor = 1", "stor in gate.toml is not a setting; did you mean store?"),
        ("AGUI_GATE_STOR = 1", "stor in gate.toml is not a setting; did you mean store?"),
        ('token = "a:b"', "token in gate.toml is not a setting; did you mean tokens?"),
        ('url = "x"', "url in gate.toml is not a setting"),
    ],
)
def test_a_name_in_a_file_that_is_no_setting_is_an_error(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(line)
    with pytest.raises(ConfigurationError) as caught:
        load_settings(file, environ={})
    assert caught.value.message.startswith(said)


def test_variables_of_clients_are_left_alone() -> None:
    """And an empty one is not set, whatever its name."""
    environ = {
        "AGUI_GATE_URL": "http://127.0.0.1:8000",
        "AGUI_GATE_TOKEN": "TOKEN",
        "AGUI_GATE_TOKEN_FILES": "",
        "agui_gate_tokens": "",
        "AGUI_GATEWAY": "another program's",
    }
    assert load_settings(environ=environ) == Settings()


def test_the_tokens_of_a_server_under_the_name_of_a_client_s_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match="A server accepts the tokens of AGUI_GATE_TOKENS") as caught:
        load_settings(environ={"AGUI_GATE_TOKEN": f"alice:{SECRET}"})
    assert SECRET not in caught.value.message
    both = {"AGUI_GATE_TOKEN": "A:1", "AGUI_GATE_TOKENS": "alice:A:1"}
    assert load_settings(environ=both).tokens == {"alice": "A:1"}


def test_so_are_they_in_the_file_of_a_client_s(tmp_path: Path) -> None:
    (path := tmp_path / "token").write_text(f"alice:{SECRET}\n")
    with pytest.raises(ConfigurationError, match=r"^AGUI_GATE_TOKEN_FILE is the token that a client sends") as caught:
        load_settings(environ={"AGUI_GATE_TOKEN_FILE": str(path)})
    assert SECRET not in caught.value.message
    with pytest.raises(ConfigurationError, match="The file that AGUI_GATE_TOKEN_FILE names can't be read"):
        load_settings(environ={"AGUI_GATE_TOKEN_FILE": f"alice:{SECRET}"})
    both = {"AGUI_GATE_TOKEN_FILE": str(path), "AGUI_GATE_TOKENS_FILE": str(path)}
    assert load_settings(environ=both).tokens == {"alice": SECRET}
    path.write_text(SECRET)
    assert load_settings(environ={"AGUI_GATE_TOKEN_FILE": str(path)}) == Settings()


def test_what_kubernetes_sets_beside_a_service_of_our_name_is_no_setting() -> None:
    environ = {
        "AGUI_GATE_SERVICE_HOST": "10.0.0.1",
        "AGUI_GATE_SERVICE_PORT": "8000",
        "AGUI_GATE_SERVICE_PORT_HTTP": "8000",
        "AGUI_GATE_PORT": "tcp://10.0.0.1:8000",
        "AGUI_GATE_PORT_8000_TCP": "tcp://10.0.0.1:8000",
        "AGUI_GATE_PORT_8000_TCP_ADDR": "10.0.0.1",
        "AGUI_GATE_POSTGRES_SERVICE_HOST": "10.0.0.2",
        "AGUI_GATE_POSTGRES_PORT": "tcp://10.0.0.2:5432",
    }
    assert load_settings(environ=environ) == Settings()


@pytest.mark.parametrize(
    "command",
    [
        "serve cli_shop:agent --host 0.0.0.0",
        "run cli_shop:agent -m Hi",
        "doctor",
        "settings",
        "backup b.db",
        "migrate",
        "audit verify",
    ],
)
def test_no_command_goes_on_with_a_misspelt_setting(cli: Cli, command: str) -> None:
    result = cli(*command.split(), env={"AGUI_GATE_TOKEN_FILES": SECRET})
    assert result.exit_code == (1 if command == "doctor" else 2)
    assert "AGUI_GATE_TOKEN_FILES is not a setting; did you mean AGUI_GATE_TOKENS_FILE?" in result.output
    assert SECRET not in result.output


def test_settings_with_which_no_server_starts_are_not_called_valid(cli: Cli) -> None:
    env = {"AGUI_GATE_BUDGETS": "run:$2", "AGUI_GATE_PRICES": "nowhere.json"}
    result = cli("settings", env=env)
    assert (result.exit_code, "AGUI_GATE_PRICES: nowhere.json can't be read" in result.output) == (2, True)


def test_an_application_does_not_start_with_a_misspelt_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever serves it: plain uvicorn, or another application."""
    monkeypatch.setenv("AGUI_GATE_TOKEN_FILES", SECRET)
    with pytest.raises(ConfigurationError, match="did you mean AGUI_GATE_TOKENS"):
        create_app(Agent(name="a", model=Parrot()), store="memory://")


def test_what_is_kept_of_runs_and_for_how_long() -> None:
    environ = {"EVENTS_SECONDS": "1.5", "EVENTS_BYTES": "65536", "DISCONNECT_GRACE": "0", "SEND_TIMEOUT": "2"}
    settings = load_settings(environ={f"AGUI_GATE_{name}": value for name, value in environ.items()})
    kept = (settings.events_seconds, settings.events_bytes, settings.disconnect_grace, settings.send_timeout)
    assert kept == (1.5, 65_536, 0.0, 2.0)
    assert (settings.shown("events_seconds"), Settings().shown("send_timeout")) == ("1.5", "30")
    for wrong in ("soon", "-1", "nan", "inf", "1e9", True, [1]):
        with pytest.raises(ConfigurationError, match="The setting disconnect_grace must be seconds, a number from 0"):
            Settings(disconnect_grace=wrong)  # type: ignore[arg-type]  # what TOML may give


def test_no_secret_is_shown() -> None:
    for store in (
        f"postgresql://u:{SECRET}@h/db",
        f"postgresql://:{SECRET}@h/db",
        f"postgresql://h/d?password={SECRET}",
    ):
        settings = load_settings(environ={"AGUI_GATE_TOKENS": f"alice:{SECRET}", "AGUI_GATE_STORE": store})
        assert SECRET not in repr(settings) + "".join(settings.shown(name) for name in names())
        assert settings.shown("tokens") == "alice:********"
    assert Settings(store="postgresql://u@h/db").shown("store") == "postgresql://u@h/db"


def test_the_command_prints_a_table(cli: Cli) -> None:
    result = cli("settings", env={"AGUI_GATE_TOKENS": f"alice:{SECRET}"})
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["NAME", "VALUE", "FROM"]
    assert ["AGUI_GATE_TOKENS", "alice:********", "AGUI_GATE_TOKENS"] in [line.split() for line in lines]
    assert SECRET not in result.output


def test_the_command_prints_json(cli: Cli) -> None:
    result = cli("settings", "--json", env={"AGUI_GATE_PORT": "81"})
    assert json.loads(result.stdout)["port"] == {"value": "81", "source": "AGUI_GATE_PORT"}


def test_the_command_refuses_wrong_settings(cli: Cli) -> None:
    result = cli("settings", env={"AGUI_GATE_PORT": "x"})
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: AGUI_GATE_PORT must be a whole number from 0 to 65,535, not 'x'.\n"
