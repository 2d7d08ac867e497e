"""Orders with their price and where to send them.

Shows two ways to look something up by a key that isn't the record's own, both without
repartitioning the orders by hand:

- a global table, of which every task has a full copy: good for small tables such as products, and
  an order keeps the price that held when it was placed;
- a foreign-key join of two tables, of any size: when a customer moves, every open order of theirs
  is updated.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace import Materialized, StreamsBuilder, Topology, serdes

ORDERS = "orders"
PRODUCTS = "products"
CUSTOMERS = "customers"
SHIPMENTS = "shipments"
REJECTED_ORDERS = "rejected-orders"
PRICED_STORE = "priced-orders"


@dataclass(frozen=True)
class Order:
    customer: str
    product: str
    quantity: int


@dataclass(frozen=True)
class Product:
    title: str
    price: float


@dataclass(frozen=True)
class Customer:
    name: str
    address: str


@dataclass(frozen=True)
class PricedOrder:
    """`title` and `total` are None for a product that doesn't exist."""

    order: Order
    title: str | None = None
    total: float | None = None


@dataclass(frozen=True)
class Shipment:
    recipient: str
    address: str
    contents: str
    total: float


def topology() -> Topology:
    builder = StreamsBuilder()
    orders = builder.stream(ORDERS, key=serdes.string(), value=serdes.json(Order))
    products = builder.global_table(PRODUCTS, key=serdes.string(), value=serdes.json(Product))
    customers = builder.table(CUSTOMERS, key=serdes.string(), value=serdes.json(Customer))

    priced = orders.left_join(products, price_order, key_selector=lambda _, order: order.product)
    (
        priced.filter(lambda _, priced: priced.total is None)
        .map_values(lambda priced: priced.order)
        .to(REJECTED_ORDERS, key=serdes.string(), value=serdes.json(Order))
    )
    (
        priced.filter(lambda _, priced: priced.total is not None)
        .to_table(Materialized(PRICED_STORE, key=serdes.string(), value=serdes.json(PricedOrder)))
        .join(customers, ship, foreign_key=lambda priced: priced.order.customer)
        .to_stream()
        .to(SHIPMENTS, key=serdes.string(), value=serdes.json(Shipment))
    )
    return builder.build()


def price_order(order: Order, product: Product | None) -> PricedOrder:
    if product is None:
        return PricedOrder(order)
    return PricedOrder(order, product.title, round(product.price * order.quantity, 2))


def ship(priced: PricedOrder, customer: Customer) -> Shipment:
    assert priced.total is not None
    contents = f"{priced.order.quantity} x {priced.title}"
    return Shipment(customer.name, customer.address, contents, priced.total)
