from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

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
    def __init__(self, received_ns: _Optional[int] = ..., sent_ns: _Optional[int] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ("address",)
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    address: str
    def __init__(self, address: _Optional[str] = ...) -> None: ...

class Description(_message.Message):
    __slots__ = ("version", "name", "drivers", "facts", "checks", "allowed_networks", "rate_limit_bps", "held_by")
    class DriversEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class FactsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
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
    def __init__(self, version: _Optional[str] = ..., name: _Optional[str] = ..., drivers: _Optional[_Mapping[str, str]] = ..., facts: _Optional[_Mapping[str, str]] = ..., checks: _Optional[_Iterable[_Union[Check, _Mapping]]] = ..., allowed_networks: _Optional[_Iterable[str]] = ..., rate_limit_bps: _Optional[int] = ..., held_by: _Optional[str] = ...) -> None: ...

class Check(_message.Message):
    __slots__ = ("name", "state", "found", "hint")
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
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[Check.State, str]] = ..., found: _Optional[str] = ..., hint: _Optional[str] = ...) -> None: ...

class PrepareRequest(_message.Message):
    __slots__ = ("run", "controller", "spec_json", "hosts", "driver", "settings_json", "address", "peers")
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
    def __init__(self, run: _Optional[bytes] = ..., controller: _Optional[str] = ..., spec_json: _Optional[str] = ..., hosts: _Optional[_Iterable[int]] = ..., driver: _Optional[str] = ..., settings_json: _Optional[str] = ..., address: _Optional[str] = ..., peers: _Optional[_Iterable[str]] = ...) -> None: ...

class Prepared(_message.Message):
    __slots__ = ("addresses",)
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    addresses: bytes
    def __init__(self, addresses: _Optional[bytes] = ...) -> None: ...

class ConnectRequest(_message.Message):
    __slots__ = ("run", "peers")
    class PeersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: bytes
        def __init__(self, key: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...
    RUN_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    peers: _containers.ScalarMap[int, bytes]
    def __init__(self, run: _Optional[bytes] = ..., peers: _Optional[_Mapping[int, bytes]] = ...) -> None: ...

class Connected(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ArmRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    def __init__(self, run: _Optional[bytes] = ...) -> None: ...

class Armed(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StartRequest(_message.Message):
    __slots__ = ("run", "at_ns")
    RUN_FIELD_NUMBER: _ClassVar[int]
    AT_NS_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    at_ns: int
    def __init__(self, run: _Optional[bytes] = ..., at_ns: _Optional[int] = ...) -> None: ...

class Started(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    def __init__(self, run: _Optional[bytes] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("state", "delivered_bytes", "total_bytes", "elapsed_ps", "reason", "is_idle")
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
    IS_IDLE_FIELD_NUMBER: _ClassVar[int]
    state: Progress.State
    delivered_bytes: int
    total_bytes: int
    elapsed_ps: int
    reason: str
    is_idle: bool
    def __init__(self, state: _Optional[_Union[Progress.State, str]] = ..., delivered_bytes: _Optional[int] = ..., total_bytes: _Optional[int] = ..., elapsed_ps: _Optional[int] = ..., reason: _Optional[str] = ..., is_idle: _Optional[bool] = ...) -> None: ...

class StopRequest(_message.Message):
    __slots__ = ("run", "reason")
    RUN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    reason: str
    def __init__(self, run: _Optional[bytes] = ..., reason: _Optional[str] = ...) -> None: ...

class Stopped(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CollectRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    def __init__(self, run: _Optional[bytes] = ...) -> None: ...

class Piece(_message.Message):
    __slots__ = ("sent", "received", "counters")
    SENT_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    sent: bytes
    received: bytes
    counters: Counters
    def __init__(self, sent: _Optional[bytes] = ..., received: _Optional[bytes] = ..., counters: _Optional[_Union[Counters, _Mapping]] = ...) -> None: ...

class Counters(_message.Message):
    __slots__ = ("devices", "endpoint")
    class EndpointEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    devices: _containers.RepeatedCompositeFieldContainer[Counter]
    endpoint: _containers.ScalarMap[str, float]
    def __init__(self, devices: _Optional[_Iterable[_Union[Counter, _Mapping]]] = ..., endpoint: _Optional[_Mapping[str, float]] = ...) -> None: ...

class Counter(_message.Message):
    __slots__ = ("device", "name", "vendor_name", "meaning", "unit", "before", "after", "source")
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VENDOR_NAME_FIELD_NUMBER: _ClassVar[int]
    MEANING_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    device: str
    name: str
    vendor_name: str
    meaning: str
    unit: str
    before: int
    after: int
    source: str
    def __init__(self, device: _Optional[str] = ..., name: _Optional[str] = ..., vendor_name: _Optional[str] = ..., meaning: _Optional[str] = ..., unit: _Optional[str] = ..., before: _Optional[int] = ..., after: _Optional[int] = ..., source: _Optional[str] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: bytes
    def __init__(self, run: _Optional[bytes] = ...) -> None: ...

class Released(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class JoinRequest(_message.Message):
    __slots__ = ("token", "request")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    token: str
    request: bytes
    def __init__(self, token: _Optional[str] = ..., request: _Optional[bytes] = ...) -> None: ...

class JoinReply(_message.Message):
    __slots__ = ("name", "certificate", "authority")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    AUTHORITY_FIELD_NUMBER: _ClassVar[int]
    name: str
    certificate: bytes
    authority: bytes
    def __init__(self, name: _Optional[str] = ..., certificate: _Optional[bytes] = ..., authority: _Optional[bytes] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("field", "found", "allowed", "hint")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    field: str
    found: str
    allowed: str
    hint: str
    def __init__(self, field: _Optional[str] = ..., found: _Optional[str] = ..., allowed: _Optional[str] = ..., hint: _Optional[str] = ...) -> None: ...
