"""What librdkafka calls the settings of Java's clients."""

from __future__ import annotations

_SAME = """
    acks allow.auto.create.topics batch.size bootstrap.servers check.crcs client.dns.lookup
    client.rack compression.type connections.max.idle.ms delivery.timeout.ms enable.idempotence
    fetch.max.bytes fetch.min.bytes isolation.level linger.ms max.in.flight.requests.per.connection
    max.partition.fetch.bytes metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
    reconnect.backoff.max.ms reconnect.backoff.ms retries retry.backoff.max.ms retry.backoff.ms
    security.protocol socket.connection.setup.timeout.ms ssl.cipher.suites transaction.timeout.ms
"""

LIBRDKAFKA_NAMES = {name: name for name in _SAME.split()} | {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
"""Java's name to librdkafka's. What is not here has no counterpart, or is in `security`."""

_NOT_JAVA = """
    api.version.request.timeout.ms batch.num.messages broker.address.family broker.address.ttl
    compression.level debug enable.random.seed fetch.error.backoff.ms fetch.queue.backoff.ms
    https.ca.location https.ca.pem log.connection.close log_level message.copy.max.bytes
    message.max.bytes queue.buffering.backpressure.threshold queue.buffering.max.kbytes
    queue.buffering.max.messages queued.max.messages.kbytes queued.min.messages
    receive.message.max.bytes socket.keepalive.enable socket.max.fails socket.nagle.disable
    socket.timeout.ms ssl.crl.location ssl.curves.list ssl.engine.id ssl.engine.location
    ssl.providers ssl.sigalgs.list statistics.interval.ms sticky.partitioning.linger.ms
    topic.metadata.propagation.max.ms topic.metadata.refresh.interval.ms
    topic.metadata.refresh.sparse
"""

LIBRDKAFKA_ONLY = frozenset(_NOT_JAVA.split())
"""What Java's clients have no counterpart of: Spark's client doesn't get it."""

_SECURITY = """
    enable.ssl.certificate.verification sasl.jaas.config sasl.kerberos.keytab
    sasl.kerberos.principal sasl.kerberos.service.name sasl.login.callback.handler.class
    sasl.mechanism sasl.mechanisms sasl.oauthbearer.client.credentials.client.id
    sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.client.id
    sasl.oauthbearer.client.secret sasl.oauthbearer.extensions sasl.oauthbearer.scope
    sasl.oauthbearer.token.endpoint.url sasl.password sasl.username ssl.ca.location ssl.ca.pem
    ssl.certificate.location ssl.certificate.pem ssl.endpoint.identification.algorithm
    ssl.key.location ssl.key.password ssl.key.pem ssl.keystore.certificate.chain ssl.keystore.key
    ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.truststore.certificates
    ssl.truststore.location ssl.truststore.password ssl.truststore.type
"""

SECURITY = frozenset(_SECURITY.split())
"""Given under Java's names or librdkafka's; `security` gives each client its own."""
