from collections.abc import Iterable as _Iterable
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar

from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper

DESCRIPTOR: _descriptor.FileDescriptor

class PingRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PingReply(_message.Message):
    __slots__ = ("received_ns", "sent_ns")
    RECEIVED_NS_FIELD_NUMBER: _ClassVar[int]
    SENT_NS_FIELD_NUMBER: _ClassVar[int]
    received_ns: int
    sent_ns: int
    def __init__(self, received_ns: int | None = ..., sent_ns: int | None = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ("address",)
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    address: str
    def __init__(self, address: str | None = ...) -> None: ...

class Description(_message.Message):
    __slots__ = ("allowed_networks", "checks", "drivers", "facts", "held_by", "name", "rate_limit_bps", "version")
    class DriversEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: str | None = ..., value: str | None = ...) -> None: ...
    class FactsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: str | None = ..., value: str | None = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DRIVERS_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_NETWORKS_FIELD_NUMBER: _ClassVar[int]
    RATE_LIMIT_BPS_FIELD_NUMBER: _ClassVar[int]
    HELD_BY_FIELD_NUMBER: _ClassVar[int]
    version: str
    name: str
    drivers: _containers.ScalarMap[str, str]
    facts: _containers.ScalarMap[str, str]
    checks: _containers.RepeatedCompositeFieldContainer[Check]
    allowed_networks: _containers.RepeatedScalarFieldContainer[str]
    rate_limit_bps: int
    held_by: str
    def __init__(self, version: str | None = ..., name: str | None = ..., drivers: _Mapping[str, str] | None = ..., facts: _Mapping[str, str] | None = ..., checks: _Iterable[Check | _Mapping] | None = ..., allowed_networks: _Iterable[str] | None = ..., rate_limit_bps: int | None = ..., held_by: str | None = ...) -> None: ...

class Check(_message.Message):
    __slots__ = ("found", "hint", "name", "state")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        OK: _ClassVar[Check.State]
        UNKNOWN: _ClassVar[Check.State]
        WARNING: _ClassVar[Check.State]
        PROBLEM: _ClassVar[Check.State]
    OK: Check.State
    UNKNOWN: Check.State
    WARNING: Check.State
    PROBLEM: Check.State
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: Check.State
    found: str
    hint: str
    def __init__(self, name: str | None = ..., state: Check.State | str | None = ..., found: str | None = ..., hint: str | None = ...) -> None: ...

class PrepareRequest(_message.Message):
    __slots__ = ("address", "controller", "driver", "hosts", "peers", "run", "settings_json", "spec_json")
    RUN_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_FIELD_NUMBER: _ClassVar[int]
    SPEC_JSON_FIELD_NUMBER: _ClassVar[int]
    HOSTS_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_JSON_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    controller: str
    spec_json: str
    hosts: _containers.RepeatedScalarFieldContainer[int]
    driver: str
    settings_json: str
    address: str
    peers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run: bytes | None = ..., controller: str | None = ..., spec_json: str | None = ..., hosts: _Iterable[int] | None = ..., driver: str | None = ..., settings_json: str | None = ..., address: str | None = ..., peers: _Iterable[str] | None = ...) -> None: ...

class Prepared(_message.Message):
    __slots__ = ("addresses",)
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    addresses: bytes
    def __init__(self, addresses: bytes | None = ...) -> None: ...

class ConnectRequest(_message.Message):
    __slots__ = ("peers", "run")
    class PeersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: bytes
        def __init__(self, key: int | None = ..., value: bytes | None = ...) -> None: ...
    RUN_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    peers: _containers.ScalarMap[int, bytes]
    def __init__(self, run: bytes | None = ..., peers: _Mapping[int, bytes] | None = ...) -> None: ...

class Connected(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ArmRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    def __init__(self, run: bytes | None = ...) -> None: ...

class Armed(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StartRequest(_message.Message):
    __slots__ = ("at_ns", "run")
    RUN_FIELD_NUMBER: _ClassVar[int]
    AT_NS_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    at_ns: int
    def __init__(self, run: bytes | None = ..., at_ns: int | None = ...) -> None: ...

class Started(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    def __init__(self, run: bytes | None = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("delivered_bytes", "elapsed_ps", "reason", "state", "total_bytes")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        WAITING: _ClassVar[Progress.State]
        RUNNING: _ClassVar[Progress.State]
        DRAINED: _ClassVar[Progress.State]
        STOPPED: _ClassVar[Progress.State]
        FAILED: _ClassVar[Progress.State]
    WAITING: Progress.State
    RUNNING: Progress.State
    DRAINED: Progress.State
    STOPPED: Progress.State
    FAILED: Progress.State
    STATE_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_BYTES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_PS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    state: Progress.State
    delivered_bytes: int
    total_bytes: int
    elapsed_ps: int
    reason: str
    def __init__(self, state: Progress.State | str | None = ..., delivered_bytes: int | None = ..., total_bytes: int | None = ..., elapsed_ps: int | None = ..., reason: str | None = ...) -> None: ...

class StopRequest(_message.Message):
    __slots__ = ("reason", "run")
    RUN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    reason: str
    def __init__(self, run: bytes | None = ..., reason: str | None = ...) -> None: ...

class Stopped(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CollectRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    def __init__(self, run: bytes | None = ...) -> None: ...

class Piece(_message.Message):
    __slots__ = ("counters", "received", "sent")
    SENT_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    sent: bytes
    received: bytes
    counters: Counters
    def __init__(self, sent: bytes | None = ..., received: bytes | None = ..., counters: Counters | _Mapping | None = ...) -> None: ...

class Counters(_message.Message):
    __slots__ = ("devices", "endpoint")
    class EndpointEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: str | None = ..., value: float | None = ...) -> None: ...
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    devices: _containers.RepeatedCompositeFieldContainer[Counter]
    endpoint: _containers.ScalarMap[str, float]
    def __init__(self, devices: _Iterable[Counter | _Mapping] | None = ..., endpoint: _Mapping[str, float] | None = ...) -> None: ...

class Counter(_message.Message):
    __slots__ = ("after", "before", "device", "meaning", "name", "unit", "vendor_name")
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VENDOR_NAME_FIELD_NUMBER: _ClassVar[int]
    MEANING_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    device: str
    name: str
    vendor_name: str
    meaning: str
    unit: str
    before: int
    after: int
    def __init__(self, device: str | None = ..., name: str | None = ..., vendor_name: str | None = ..., meaning: str | None = ..., unit: str | None = ..., before: int | None = ..., after: int | None = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    def __init__(self, run: bytes | None = ...) -> None: ...

class Released(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class JoinRequest(_message.Message):
    __slots__ = ("request", "token")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    token: str
    request: bytes
    def __init__(self, token: str | None = ..., request: bytes | None = ...) -> None: ...

class JoinReply(_message.Message):
    __slots__ = ("authority", "certificate", "name")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    AUTHORITY_FIELD_NUMBER: _ClassVar[int]
    name: str
    certificate: bytes
    authority: bytes
    def __init__(self, name: str | None = ..., certificate: bytes | None = ..., authority: bytes | None = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("allowed", "field", "found", "hint")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    field: str
    found: str
    allowed: str
    hint: str
    def __init__(self, field: str | None = ..., found: str | None = ..., allowed: str | None = ..., hint: str | None = ...) -> None: ...
