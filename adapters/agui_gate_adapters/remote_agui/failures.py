"""What goes wrong at a remote agent, as the errors that an adapter raises. None has a word of the remote's in it."""

from agui_gate.client import ClientError, Refused, Unreachable
from agui_gate.errors import ProviderError, ProviderRejected, ProviderUnavailable, RateLimited
from agui_gate_adapters.common.failures import Api, ErrorReply, classify_status, log, plain

API = Api("AG-UI agent", "the headers of RemoteAgent")


def failed(error: ClientError) -> ProviderError:
    """The error that this means."""
    if isinstance(error, Refused):
        log.debug("the remote agent refused: %s", error.http_status)
        return _refused(error.http_status)
    if isinstance(error, Unreachable) and not error.sent:  # its message has an address, which is for operators alone
        return ProviderUnavailable("The remote agent failed. Nothing is listening at its address.", reached=False)
    return ProviderUnavailable(f"The remote agent failed. {error.message}")


def _refused(status: int) -> ProviderError:
    if status == 409:  # it surely did nothing
        return RateLimited("The remote agent is busy with this conversation (409).")
    if 300 <= status < 400:
        return ProviderRejected(f"The remote agent is elsewhere ({status}): correct the url of RemoteAgent.")
    if status == 404:
        return ProviderRejected("There is no AG-UI agent at this address (404): check the url of RemoteAgent.")
    return classify_status(status, ErrorReply(), API).error


def ended_with(code: str) -> ProviderError:
    """The error that a run means which failed by its own word."""
    log.debug("the remote agent's run failed: code=%r", plain(code))
    return ProviderUnavailable("The remote agent's run failed.")
