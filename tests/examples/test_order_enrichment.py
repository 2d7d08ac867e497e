from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.order_enrichment import (
    CUSTOMERS,
    ORDERS,
    PRICED_STORE,
    PRODUCTS,
    REJECTED_ORDERS,
    SHIPMENTS,
    Customer,
    Order,
    PricedOrder,
    Product,
    Shipment,
    topology,
)
from headrace import serdes
from headrace.testing import TestInputTopic, TestOutputTopic, TopologyTestDriver

ANN = Customer("Ann", "1 Mill Lane")
LAMP_ORDER = Order("ann", "lamp", 2)


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(topology()) as driver:
        yield driver


@pytest.fixture
def orders(driver: TopologyTestDriver) -> TestInputTopic[str, Order]:
    return driver.input_topic(ORDERS, serdes.string(), serdes.json(Order))


@pytest.fixture
def products(driver: TopologyTestDriver) -> TestInputTopic[str, Product]:
    products = driver.input_topic(PRODUCTS, serdes.string(), serdes.json(Product))
    products.pipe("lamp", Product("Desk lamp", 19.99))
    return products


@pytest.fixture
def customers(driver: TopologyTestDriver) -> TestInputTopic[str, Customer]:
    return driver.input_topic(CUSTOMERS, serdes.string(), serdes.json(Customer))


@pytest.fixture
def shipments(driver: TopologyTestDriver) -> TestOutputTopic[str, Shipment]:
    return driver.output_topic(SHIPMENTS, serdes.string(), serdes.json(Shipment))


@pytest.mark.usefixtures("products")
def test_an_order_gets_its_price_and_address(
    orders: TestInputTopic[str, Order],
    customers: TestInputTopic[str, Customer],
    shipments: TestOutputTopic[str, Shipment],
) -> None:
    customers.pipe("ann", ANN)
    orders.pipe("o-1", LAMP_ORDER)
    assert shipments.read_key_values() == [
        ("o-1", Shipment("Ann", "1 Mill Lane", "2 x Desk lamp", 39.98))
    ]


@pytest.mark.usefixtures("products")
def test_an_order_waits_for_its_customer(
    orders: TestInputTopic[str, Order],
    customers: TestInputTopic[str, Customer],
    shipments: TestOutputTopic[str, Shipment],
) -> None:
    orders.pipe("o-1", LAMP_ORDER)
    assert shipments.is_empty
    customers.pipe("ann", ANN)
    assert [order for order, _ in shipments.read_key_values()] == ["o-1"]


@pytest.mark.usefixtures("products")
def test_all_orders_of_a_customer_who_moves_are_updated(
    orders: TestInputTopic[str, Order],
    customers: TestInputTopic[str, Customer],
    shipments: TestOutputTopic[str, Shipment],
) -> None:
    customers.pipe("ann", ANN)
    customers.pipe("bob", Customer("Bob", "2 Weir Road"))
    orders.pipe_key_values([("o-1", LAMP_ORDER), ("o-2", Order("bob", "lamp", 1))])
    orders.pipe("o-3", LAMP_ORDER)
    shipments.read_records()
    customers.pipe("ann", Customer("Ann", "9 New Street"))
    moved = shipments.read_map()
    assert {order: shipment.address for order, shipment in moved.items()} == {
        "o-1": "9 New Street",
        "o-3": "9 New Street",
    }


def test_an_order_keeps_the_price_it_was_placed_at(
    driver: TopologyTestDriver,
    orders: TestInputTopic[str, Order],
    products: TestInputTopic[str, Product],
) -> None:
    orders.pipe("o-1", LAMP_ORDER)
    products.pipe("lamp", Product("Desk lamp", 25.0))
    orders.pipe("o-2", LAMP_ORDER)
    priced = driver.store(PRICED_STORE)
    assert priced.get("o-1").value == PricedOrder(LAMP_ORDER, "Desk lamp", 39.98)
    assert priced.get("o-2").value == PricedOrder(LAMP_ORDER, "Desk lamp", 50.0)


@pytest.mark.usefixtures("products")
def test_an_order_for_an_unknown_product_is_rejected(
    driver: TopologyTestDriver,
    orders: TestInputTopic[str, Order],
    customers: TestInputTopic[str, Customer],
    shipments: TestOutputTopic[str, Shipment],
) -> None:
    customers.pipe("ann", ANN)
    orders.pipe("o-1", Order("ann", "spaceship", 1))
    rejected = driver.output_topic(REJECTED_ORDERS, serdes.string(), serdes.json(Order))
    assert rejected.read_key_values() == [("o-1", Order("ann", "spaceship", 1))]
    assert shipments.is_empty


@pytest.mark.usefixtures("products")
def test_a_shipment_is_withdrawn_with_its_customer(
    orders: TestInputTopic[str, Order],
    customers: TestInputTopic[str, Customer],
    shipments: TestOutputTopic[str, Shipment],
) -> None:
    customers.pipe("ann", ANN)
    orders.pipe("o-1", LAMP_ORDER)
    shipments.read_records()
    customers.pipe("ann", None)
    withdrawn = shipments.read_record()
    assert withdrawn.key == "o-1"
    assert withdrawn.value is None


def test_orders_and_customers_meet_whatever_their_partitions() -> None:
    with TopologyTestDriver(topology(), partitions={ORDERS: 3, CUSTOMERS: 2}) as driver:
        products = driver.input_topic(PRODUCTS, serdes.string(), serdes.json(Product))
        customers = driver.input_topic(CUSTOMERS, serdes.string(), serdes.json(Customer))
        orders = driver.input_topic(ORDERS, serdes.string(), serdes.json(Order))
        products.pipe("lamp", Product("Desk lamp", 19.99))
        customers.pipe_key_values([("ann", ANN), ("bob", Customer("Bob", "2 Weir Road"))])
        for number in range(12):
            orders.pipe(f"o-{number}", Order("bob" if number % 2 else "ann", "lamp", 1))
        shipments = driver.output_topic(SHIPMENTS, serdes.string(), serdes.json(Shipment))
        recipients = {order: shipment.recipient for order, shipment in shipments.read_key_values()}
        assert recipients == {f"o-{n}": "Bob" if n % 2 else "Ann" for n in range(12)}
