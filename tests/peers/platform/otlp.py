"""Reads a request of OTLP with OpenTelemetry's own message types and prints what is in it."""

import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status


def in_base64(value):
    """OTLP writes ids in hexadecimal digits where the JSON of protobuf has base64."""
    if isinstance(value, list):
        return [in_base64(one) for one in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        key: base64.b64encode(bytes.fromhex(one)).decode() if key in ids else in_base64(one)
        for key, one in value.items()
    }


def attributes(pairs):
    return {pair.key: pair.value.string_value for pair in pairs}


def read(body, kind):
    if kind == "application/json":
        # Strict: a field it does not know is an error.
        return json_format.ParseDict(in_base64(json.loads(body)), ExportTraceServiceRequest())
    request = ExportTraceServiceRequest()
    request.ParseFromString(body)
    return request


with open(sys.argv[1], "rb") as file:
    request = read(file.read(), sys.argv[2])
(resource,) = request.resource_spans
(scope,) = resource.scope_spans
print(
    json.dumps(
        {
            "resource": attributes(resource.resource.attributes),
            "scope": scope.scope.name,
            "spans": [
                {
                    "trace": span.trace_id.hex(),
                    "id": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "kind": Span.SpanKind.Name(span.kind),
                    "name": span.name,
                    "flags": span.flags,
                    "start": span.start_time_unix_nano,
                    "end": span.end_time_unix_nano,
                    "attributes": attributes(span.attributes),
                    "status": [Status.StatusCode.Name(span.status.code), span.status.message],
                }
                for span in scope.spans
            ],
        }
    )
)
