from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, NewType, Optional, TypedDict
from uuid import UUID

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import serdes
from headrace.core.errors import ArgumentError, SerializationError

Cents = NewType("Cents", int)


class Colour(Enum):
    RED = "red"


class Address(TypedDict):
    street: str


class Customer(pydantic.BaseModel):
    name: str
    born: date | None = None


@dataclass
class Item:
    sku: str
    price: float = 0.0


@dataclass
class Node:
    children: list[Node] = field(default_factory=list)


@dataclass
class Order:
    id: int
    items: list[Item]
    customer: Customer | None = None
    colour: Colour = Colour.RED
    placed: datetime | None = None
    number: UUID | None = None
    total: Decimal = Decimal(0)
    cents: Cents = Cents(0)
    tags: tuple[str, ...] = ()
    place: tuple[float, float] = (0.0, 0.0)
    notes: dict[str, Any] = field(default_factory=dict)
    state: Literal["open", "done"] = "open"
    derived: int = field(default=7, init=False)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_plain_values_round_trip(value: Any) -> None:
    serde = serdes.json()
    assert serde.deserialize(serde.serialize(value)) == value


def test_equal_values_have_equal_bytes() -> None:
    serde = serdes.json()
    assert serde.serialize({"b": 1, "a": {"d": 1, "c": 2}}) == b'{"a":{"c":2,"d":1},"b":1}'


def test_a_dataclass_round_trips() -> None:
    order = Order(
        id=1,
        items=[Item("a", 1.5), Item("b")],
        customer=Customer(name="Ada", born=date(1815, 12, 10)),
        placed=datetime(2024, 1, 1, 12),
        number=UUID(int=5),
        total=Decimal("12.30"),
        cents=Cents(5),
        tags=("x", "y"),
        place=(1.0, 2.0),
        notes={"k": [1]},
        state="done",
    )
    serde = serdes.json(Order)
    assert serde.deserialize(serde.serialize(order)) == order
    assert pickle.loads(pickle.dumps(serde)).deserialize(serde.serialize(order)) == order


def test_defaults_and_unknown_fields() -> None:
    order = serdes.json(Order).deserialize(b'{"id": 1, "items": [], "later": true}')
    assert order == Order(1, [])


def test_a_dataclass_may_contain_itself() -> None:
    serde = serdes.json(Node)
    tree = Node([Node(), Node([Node()])])
    assert serde.deserialize(serde.serialize(tree)) == tree


def test_a_pydantic_model_round_trips() -> None:
    serde = serdes.json(Customer)
    customer = Customer(name="Ada", born=date(1815, 12, 10))
    assert serde.serialize(customer) == b'{"born":"1815-12-10","name":"Ada"}'
    assert serde.deserialize(serde.serialize(customer)) == customer


@pytest.mark.parametrize(
    ("target", "value"),
    [
        (list[Item], [Item("a")]),
        (Sequence[int], [1]),
        (dict[str, Item], {"k": Item("a")}),
        (Mapping[str, float], {"k": 1.0}),
        (Optional[int], None),  # noqa: UP045
        (int | str, "text"),
        (Address, {"street": "s"}),
        (tuple, (1, "a")),
        (time, time(12)),
        (float, 1.5),
        (object, [1]),
        (Any, {"k": 1}),
    ],
)
def test_other_types_round_trip(target: Any, value: Any) -> None:
    serde = serdes.json(target)
    assert serde.deserialize(serde.serialize(value)) == value


def test_null_as_type_of_a_field() -> None:
    assert serdes.json(list[None]).deserialize(b"[null]") == [None]


def test_a_float_accepts_whole_numbers() -> None:
    read = serdes.json(Item).deserialize(b'{"sku":"a","price":3}')
    assert type(read.price) is float


@pytest.mark.parametrize(
    ("target", "data", "message"),
    [
        (list[int], b"{nope", "Not JSON"),
        (list[int], b"", "Not JSON"),
        (list[int], b'"\xff"', "Not JSON"),
        (Order, b"[]", "expected dict, got list"),
        (Order, b'{"id": 1}', "Order.items is missing"),
        (Order, b'{"id": "1", "items": []}', "Order.id: expected int, got str '1'"),
        (Order, b'{"id": true, "items": []}', "Order.id: expected int, got bool"),
        (Order, b'{"id": 1, "items": [{}]}', "Order.items: Item.sku is missing"),
        (Order, b'{"id":1,"items":[],"colour":"blue"}', "expected Colour, got str 'blue'"),
        (Order, b'{"id":1,"items":[],"total":"x"}', "expected Decimal"),
        (Order, b'{"id":1,"items":[],"number":5}', "expected UUID.*; expected NoneType"),
        (Order, b'{"id":1,"items":[],"place":[1]}', "expected 2 entries, got 1"),
        (Order, b'{"id":1,"items":[],"state":"x"}', "expected one of"),
        (Order, b'{"id":1,"items":[],"customer":{}}', "expected Customer"),
        (float, b'"1"', "expected float, got str"),
        (Customer, b"{}", "doesn't fit.*Customer"),
        (Customer, b"nope", "doesn't fit.*Customer"),
    ],
)
def test_what_does_not_fit_raises(target: Any, data: bytes, message: str) -> None:
    with pytest.raises(SerializationError, match=f"(?s){message}"):
        serdes.json(target).deserialize(data)


@pytest.mark.parametrize(
    ("target", "value"),
    [
        (None, {1, 2}),
        (None, b"bytes"),
        (None, {1: 2}),
        (None, 2**64),
        (Order, {"id": 1}),
        (Customer, Item("a")),
        (list[int], {}),
        (Address, []),
    ],
)
def test_what_cannot_be_written_raises(target: Any, value: Any) -> None:
    with pytest.raises(SerializationError, match=r"can't (be )?writt?e"):
        serdes.json(target).serialize(value)


@pytest.mark.parametrize("target", [complex, set[int], dict[int, str], "Order", list[complex]])
def test_a_type_that_cannot_be_read_raises_at_once(target: Any) -> None:
    with pytest.raises(ArgumentError, match="json\\(\\) can't decode into"):
        serdes.json(target)


def test_pydantic_is_not_imported_unless_used() -> None:
    program = (
        "import sys; from headrace import serdes; serdes.json().serialize({});"
        "assert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_text_that_is_not_json_raises_and_says_where() -> None:
    with pytest.raises(ValueError, match="line 1 column 2"):
        serdes.json().deserialize(b"{nope")


_JSON = b'{"a":[1,-2.5e3,{"b":null}],"c":"x\\ny\\u00e9","d":true} '
_CHANGES = st.lists(st.tuples(st.integers(0, len(_JSON) - 1), st.integers(0, 255)), max_size=3)


@given(_CHANGES)
def test_what_is_not_json_does_not_pass_the_check(changes: list[tuple[int, int]]) -> None:
    data = bytearray(_JSON)
    for position, byte in changes:
        data[position] = byte
    read = serdes.json().deserialize
    check = serdes.json().check
    assert check is not None
    try:
        expected = read(bytes(data))
    except ValueError as error:
        if "infinity" not in str(error):
            with pytest.raises(ValueError, match=re.escape(str(error))):
                check(bytes(data))
    else:
        assert (check(bytes(data)) is None) == (expected is None)


@pytest.mark.parametrize("data", [b"null", b" null ", b"1", b'"x"', b"[]", '{"ü":1}'.encode()])
def test_null_is_seen_when_checking(data: bytes) -> None:
    read = serdes.json().deserialize
    check = serdes.json().check
    assert check is not None
    assert (check(data) is None) == (read(data) is None)


@pytest.mark.parametrize("data", [b"", b"{", b'{"a":"\xff"}', b'{"a":"\\ud800"}', b'{"a":01}'])
def test_errors_are_the_same_when_checking(data: bytes) -> None:
    read = serdes.json().deserialize
    check = serdes.json().check
    assert check is not None
    with pytest.raises(ValueError, match=r".") as expected:
        read(data)
    with pytest.raises(ValueError, match=re.escape(str(expected.value))):
        check(data)
