"""The shared state in the form in which tools have it: a dict, or an instance of the model that `Agent(state=…)` names.

What is saved and what clients are told is JSON. A model has the first word on what that may be, and every value that
fits is written as the model writes it: with its defaults, under its aliases.
"""

from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from agui_gate.core.json_text import NotFinite, check_finite, encoded, parse

if TYPE_CHECKING:
    from pydantic import BaseModel

log = structlog.get_logger("agui_gate.state")


class Unfit(ValueError):
    """A state, or an answer, that its model doesn't take. The message says where and why, without the values."""


class StateForm:
    """Reads and writes the state of one agent's threads. Without a ``model`` it is a dict, and anything fits."""

    def __init__(self, model: "type[BaseModel] | None" = None) -> None:
        self.model = model

    def live(self, state: bytes) -> Any:
        """Returns the object that tools change, made of a state that fits. Each call makes a new one."""
        if self.model is not None:
            return self.model.model_validate_json(state)
        value = msgspec.json.decode(state)
        return value if isinstance(value, dict) else {}

    def fitted(self, state: bytes) -> bytes:
        """Returns a state as it is kept. Raises `Unfit`."""
        return state if self.model is None else guarded(lambda model: model.model_validate_json(state), self.model)

    def default(self) -> bytes:
        """Returns the state of a thread that has none yet. Raises `Unfit` where it has to be said."""
        return b"null" if self.model is None else guarded(lambda model: model(), self.model)

    def shown(self, kept: Any) -> Any:
        """Returns what a thread's clients are shown of the state that is kept. Where there is none: the model's
        defaults.
        """
        return (msgspec.json.decode(self.default()) or {}) if kept is None else kept


DICT = StateForm()


def guarded(read: Any, model: "type[BaseModel]", called: str = "state") -> bytes:
    """Returns what ``read`` makes, as JSON. Validators are other people's code: whatever they raise, it doesn't fit.

    ``called`` is what people know the value as.
    """
    from pydantic import ValidationError

    try:
        return written(read(model))
    except ValidationError as error:
        found = (f"{called}{''.join(f'.{part}' for part in e['loc'])}: {e['msg']}" for e in error.errors()[:5])
        raise Unfit("; ".join(found)) from None
    except NotFinite as error:
        raise Unfit(f"{called}: {error}") from None
    except Exception as error:
        log.exception(f"{called}_not_checked", model=model.__name__)
        raise Unfit(f"{called}: it could not be checked ({type(error).__name__})") from None


def written(live: Any) -> bytes:
    """Returns what tools have made of the state, as JSON. Raises ValueError for what is not JSON."""
    try:
        if isinstance(live, dict):
            return encoded(live)
        return _of_model(live)
    except NotFinite:
        raise
    except Exception as error:  # a model's serializers are anybody's
        raise ValueError(f"a state must be JSON, and this is not: {error}") from error


def _of_model(live: "BaseModel") -> bytes:
    """Returns a model as JSON: it may write NaN as null, or as it is, which is no JSON."""
    text = live.model_dump_json(by_alias=True, warnings="none")
    if "NaN" in text or "Infinity" in text:
        parse(text)
    if "null" in text:
        check_finite(live.model_dump(warnings="none"))
    return text.encode()


def replace(live: Any, value: dict[str, Any]) -> None:
    """Puts ``value`` in the place of what ``live`` holds; it stays the same object. Raises ValueError if it can't
    be.
    """
    if isinstance(live, dict):
        live.clear()
        live.update(value)
        return
    fresh = type(live).model_validate_json(msgspec.json.encode(value))
    live.__dict__.clear()
    live.__dict__.update(fresh.__dict__)
    for name in ("__pydantic_extra__", "__pydantic_fields_set__"):
        object.__setattr__(live, name, getattr(fresh, name))
