"""A receiver of OTLP over HTTP, which takes no request that is not as the protocol says.

https://opentelemetry.io/docs/specs/otlp/#otlphttp: a POST of protobuf to `{base}/v1/traces`, which may be compressed.
Ids have 16 and 8 bytes and are not zero, a span ends after it began, and nothing is in it that isn't known here.
"""

import gzip
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

PROTOBUF = "application/x-protobuf"


class Received:
    """A span, with what the resource that made it is called."""

    def __init__(self, span: Span, service: str, schema: str) -> None:
        self.span, self.service, self.schema = span, service, schema
        self.name, self.id, self.parent, self.trace = span.name, span.span_id, span.parent_span_id, span.trace_id
        self.attributes = _values(span.attributes)


class Receiver:
    """What was sent to it. While ``answers`` is not set it keeps those who send waiting."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.spans: list[Received] = []
        self.headers: list[dict[str, str]] = []
        self.raw = b""
        self.refused: list[str] = []
        self.asked, self.answers = threading.Event(), threading.Event()
        self.answers.set()

    def named(self, name: str) -> Received:
        """The only span of this name."""
        (found,) = [one for one in self.spans if one.name == name]
        return found

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        """Raises `ValueError` where it is not as the protocol says."""
        _insist(path == f"{self.base}/v1/traces", f"path {path}")
        _insist(headers.get("content-type") == PROTOBUF, f"content-type {headers.get('content-type')}")
        if encoding := headers.get("content-encoding"):
            _insist(encoding == "gzip", f"content-encoding {encoding}")
            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        request.DiscardUnknownFields()
        _insist(request.ByteSize() == len(body), "fields that are not known")
        self.headers.append(headers)
        self.raw += body
        for resource in request.resource_spans:
            self.spans += _spans(resource)


def _spans(resource: ResourceSpans) -> Iterator[Received]:
    service = _values(resource.resource.attributes).get("service.name")
    _insist(isinstance(service, str), "a resource without service.name")
    for scope in resource.scope_spans:
        _insist(bool(scope.scope.name and scope.spans), "a scope without a name, or without spans")
        for span in scope.spans:
            _insist(len(span.trace_id) == 16 and any(span.trace_id), "trace_id")
            _insist(len(span.span_id) == 8 and any(span.span_id), "span_id")
            _insist(len(span.parent_span_id) in (0, 8), "parent_span_id")
            _insist(0 < span.start_time_unix_nano <= span.end_time_unix_nano, "times")
            _insist(bool(span.name) and span.kind != 0, "a span without a name or a kind")
            yield Received(span, str(service), scope.schema_url)


def _values(pairs: Iterable[KeyValue]) -> dict[str, object]:
    found: dict[str, object] = {}
    for pair in pairs:
        _insist(pair.key not in found, f"attribute {pair.key} twice")
        kind = pair.value.WhichOneof("value")
        _insist(kind is not None, f"attribute {pair.key} without a value")
        found[pair.key] = getattr(pair.value, str(kind))
    return found


def _insist(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


@contextmanager
def receiving(base: str = "") -> Iterator[tuple[Receiver, str]]:
    """A receiver below the path ``base``, and its origin."""
    receiver = Receiver(base)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.asked.set()
            receiver.answers.wait()
            try:
                receiver.take(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            except Exception as error:
                receiver.refused.append(str(error))
                self.send_error(400)
                return
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", PROTOBUF)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield receiver, f"http://127.0.0.1:{server.server_port}"
        finally:
            receiver.answers.set()
            server.shutdown()
