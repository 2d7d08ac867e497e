"""The settings of the Kafka clients that a configuration may have, under Java's names.

They are given as they are, for all clients, or with a prefix for one kind: `consumer.`,
`producer.`, `admin.`; `main.consumer.`, `restore.consumer.` and `global.consumer.` go before
`consumer.`. Only what is given is passed on, so there are no defaults here.
"""

from __future__ import annotations

from typing import NamedTuple

CLIENTS = {"c": "consumer", "p": "producer", "a": "admin"}

SHARED = ("bootstrap.servers", "client.id", "security.protocol")
"""Settings of clients that are in `SETTINGS`, too."""

CLIENT_PREFIXES = (
    "consumer",
    "producer",
    "admin",
    "main.consumer",
    "restore.consumer",
    "global.consumer",
)


class ClientSetting(NamedTuple):
    """One setting of clients. `clients` has the first letters of those that know it."""

    key: str
    clients: str
    doc: str


_TABLE = (
    # Finding brokers and talking to them
    ClientSetting("client.dns.lookup", "cpa", "How names of brokers are looked up."),
    ClientSetting("client.rack", "c", "Where the client is, to read from a near replica."),
    ClientSetting("connections.max.idle.ms", "cpa", "When an idle connection is closed."),
    ClientSetting("default.api.timeout.ms", "ca", "How long a call may take that sets no limit."),
    ClientSetting("metadata.max.age.ms", "cpa", "How often facts about topics are asked for."),
    ClientSetting("metadata.recovery.rebootstrap.trigger.ms", "cpa", "When to look up brokers."),
    ClientSetting("metadata.recovery.strategy", "cpa", "What to do when no broker answers."),
    ClientSetting("receive.buffer.bytes", "cpa", "Size of the socket's receive buffer."),
    ClientSetting("reconnect.backoff.max.ms", "cpa", "The longest wait before reconnecting."),
    ClientSetting("reconnect.backoff.ms", "cpa", "The first wait before reconnecting."),
    ClientSetting("request.timeout.ms", "cpa", "How long to wait for a broker's response."),
    ClientSetting("retries", "pa", "How often a request is repeated that may work later."),
    ClientSetting("retry.backoff.max.ms", "cpa", "The longest wait before a retry."),
    ClientSetting("retry.backoff.ms", "cpa", "The first wait before a retry."),
    ClientSetting("send.buffer.bytes", "cpa", "Size of the socket's send buffer."),
    ClientSetting("socket.connection.setup.timeout.max.ms", "cpa", "Longest wait to connect."),
    ClientSetting("socket.connection.setup.timeout.ms", "cpa", "First wait to connect."),
    # Reading
    ClientSetting(
        "auto.offset.reset",
        "c",
        "Where to begin in a topic without a committed position: earliest (the default here, as "
        "in Kafka Streams), latest, none, or by_duration:PT1H.",
    ),
    ClientSetting("allow.auto.create.topics", "c", "Whether reading creates topics."),
    ClientSetting("check.crcs", "c", "Check that records arrive undamaged."),
    ClientSetting("exclude.internal.topics", "c", "Whether patterns match Kafka's own topics."),
    ClientSetting("fetch.max.bytes", "c", "How much one fetch may bring."),
    ClientSetting("fetch.max.wait.ms", "c", "How long a broker waits for fetch.min.bytes."),
    ClientSetting("fetch.min.bytes", "c", "How much a fetch should bring at least."),
    ClientSetting("isolation.level", "c", "Which records are read: read_committed, or all."),
    ClientSetting("max.partition.fetch.bytes", "c", "How much a fetch may bring of a partition."),
    ClientSetting("max.poll.records", "c", "How many records one poll gives."),
    # Writing
    ClientSetting("acks", "p", "How many replicas must have a record."),
    ClientSetting("batch.size", "p", "Bytes of records for a partition that are sent together."),
    ClientSetting("buffer.memory", "p", "Bytes of records that wait to be sent."),
    ClientSetting("compression.gzip.level", "p", "How hard gzip tries."),
    ClientSetting("compression.lz4.level", "p", "How hard lz4 tries."),
    ClientSetting("compression.type", "p", "none, gzip, snappy, lz4 or zstd."),
    ClientSetting("compression.zstd.level", "p", "How hard zstd tries."),
    ClientSetting("delivery.timeout.ms", "p", "How long sending a record may take in all."),
    ClientSetting("enable.idempotence", "p", "Retries neither repeat nor reorder records."),
    ClientSetting("linger.ms", "p", "How long to wait for more records to send together."),
    ClientSetting("max.block.ms", "p", "How long to wait for room, or for a transaction's step."),
    ClientSetting("max.in.flight.requests.per.connection", "p", "Requests without an answer."),
    ClientSetting("max.request.size", "p", "The largest request, and so the largest record."),
    ClientSetting("metadata.max.idle.ms", "p", "When facts about an unused topic are forgotten."),
    ClientSetting("transaction.timeout.ms", "p", "When a broker aborts an open transaction."),
    # TLS
    ClientSetting("enable.ssl.certificate.verification", "cpa", "Check the broker's certificate."),
    ClientSetting("ssl.ca.location", "cpa", "Certificates to trust, a PEM file (librdkafka's)."),
    ClientSetting("ssl.ca.pem", "cpa", "Certificates to trust, PEM text (librdkafka's)."),
    ClientSetting("ssl.certificate.location", "cpa", "Own certificate, a PEM file (librdkafka's)."),
    ClientSetting("ssl.certificate.pem", "cpa", "Own certificate, PEM text (librdkafka's)."),
    ClientSetting("ssl.cipher.suites", "cpa", "Which ciphers may be used."),
    ClientSetting("ssl.enabled.protocols", "cpa", "Which versions of TLS may be used."),
    ClientSetting("ssl.endpoint.identification.algorithm", "cpa", "https, or empty: don't check."),
    ClientSetting("ssl.key.location", "cpa", "Own private key, a PEM file (librdkafka's)."),
    ClientSetting("ssl.key.password", "cpa", "Password of the private key."),
    ClientSetting("ssl.key.pem", "cpa", "Own private key, PEM text (librdkafka's)."),
    ClientSetting("ssl.keystore.certificate.chain", "cpa", "Own certificate, PEM text."),
    ClientSetting("ssl.keystore.key", "cpa", "Own private key, PEM text."),
    ClientSetting("ssl.keystore.location", "cpa", "File with own key and certificate."),
    ClientSetting("ssl.keystore.password", "cpa", "Password of that file."),
    ClientSetting("ssl.keystore.type", "cpa", "Its format: PEM, PKCS12 or JKS."),
    ClientSetting("ssl.protocol", "cpa", "The version of TLS to use."),
    ClientSetting("ssl.truststore.certificates", "cpa", "Certificates to trust, PEM text."),
    ClientSetting("ssl.truststore.location", "cpa", "File with certificates to trust."),
    ClientSetting("ssl.truststore.password", "cpa", "Password of that file."),
    ClientSetting("ssl.truststore.type", "cpa", "Its format: PEM, PKCS12 or JKS."),
    # SASL
    ClientSetting("sasl.jaas.config", "cpa", "Java's login module with user name and password."),
    ClientSetting("sasl.kerberos.keytab", "cpa", "Kerberos: the file of keys (librdkafka's)."),
    ClientSetting("sasl.kerberos.kinit.cmd", "cpa", "Kerberos: the command that gets a ticket."),
    ClientSetting("sasl.kerberos.min.time.before.relogin", "cpa", "Kerberos: ms between logins."),
    ClientSetting("sasl.kerberos.principal", "cpa", "Kerberos: who we are (librdkafka's)."),
    ClientSetting("sasl.kerberos.service.name", "cpa", "Kerberos: who the brokers are."),
    ClientSetting("sasl.mechanism", "cpa", "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI …"),
    ClientSetting("sasl.mechanisms", "cpa", "The same (librdkafka's)."),
    ClientSetting("sasl.oauthbearer.client.credentials.client.id", "cpa", "OAuth: who we are."),
    ClientSetting("sasl.oauthbearer.client.credentials.client.secret", "cpa", "OAuth: secret."),
    ClientSetting("sasl.oauthbearer.client.id", "cpa", "OAuth: who we are (librdkafka's)."),
    ClientSetting("sasl.oauthbearer.client.secret", "cpa", "OAuth: secret (librdkafka's)."),
    ClientSetting("sasl.oauthbearer.extensions", "cpa", "OAuth: more to send (librdkafka's)."),
    ClientSetting("sasl.oauthbearer.scope", "cpa", "OAuth: which access to ask for."),
    ClientSetting("sasl.oauthbearer.token.endpoint.url", "cpa", "OAuth: where to get a token."),
    ClientSetting("sasl.password", "cpa", "Password for PLAIN and SCRAM (librdkafka's)."),
    ClientSetting("sasl.username", "cpa", "User name for PLAIN and SCRAM (librdkafka's)."),
)

_ONLY_JAVA = """
    sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
    sasl.client.callback.handler.class sasl.login.callback.handler.class sasl.login.class
    sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
    sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
    sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
    sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode
    sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
    sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name security.providers
    ssl.engine.factory.class ssl.keymanager.algorithm ssl.provider
    ssl.secure.random.implementation ssl.trustmanager.algorithm
"""
_ONLY_LIBRDKAFKA = {
    "cpa": """
        api.version.request.timeout.ms broker.address.family broker.address.ttl debug
        enable.random.seed https.ca.location https.ca.pem log.connection.close log_level
        message.copy.max.bytes message.max.bytes receive.message.max.bytes
        socket.keepalive.enable socket.max.fails socket.nagle.disable socket.timeout.ms
        ssl.crl.location ssl.curves.list ssl.engine.id ssl.engine.location ssl.providers
        ssl.sigalgs.list statistics.interval.ms topic.metadata.propagation.max.ms
        topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
    """,
    "c": """
        fetch.error.backoff.ms fetch.queue.backoff.ms queued.max.messages.kbytes
        queued.min.messages
    """,
    "p": """
        batch.num.messages compression.level queue.buffering.backpressure.threshold
        queue.buffering.max.kbytes queue.buffering.max.messages sticky.partitioning.linger.ms
    """,
}

CLIENT_SETTINGS: dict[str, ClientSetting] = {
    setting.key: setting
    for setting in (
        *_TABLE,
        *(
            ClientSetting(key, "cpa", "Only of Java's client, with which Spark reads.")
            for key in _ONLY_JAVA.split()
        ),
        *(
            ClientSetting(key, clients, "Only of librdkafka, not for Spark's client.")
            for clients, keys in _ONLY_LIBRDKAFKA.items()
            for key in keys.split()
        ),
    )
}

_SERDES = "The topology names the serdes."
_NO_MEMBERS = "Spark assigns the tasks: the consumer group has no members."

NO_EFFECT = {
    "auto.commit.interval.ms": "commit.interval.ms says when to commit.",
    "bootstrap.controllers": "Controllers are not asked for anything.",
    "enable.auto.commit": "Positions are committed with the results.",
    "enable.metrics.push": "Metrics are not pushed to brokers.",
    "group.id": "The consumer group is application.id.",
    "group.instance.id": _NO_MEMBERS,
    "group.protocol": _NO_MEMBERS,
    "group.remote.assignor": _NO_MEMBERS,
    "heartbeat.interval.ms": _NO_MEMBERS,
    "interceptor.classes": "Java classes can't be loaded.",
    "key.deserializer": _SERDES,
    "key.serializer": _SERDES,
    "max.poll.interval.ms": _NO_MEMBERS,
    "metric.reporters": "Java classes can't be loaded.",
    "metrics.num.samples": "Metrics of clients are not shown.",
    "metrics.recording.level": "Metrics of clients are not shown.",
    "metrics.sample.window.ms": "Metrics of clients are not shown.",
    "partition.assignment.strategy": _NO_MEMBERS,
    "partitioner.adaptive.partitioning.enable": "Records without a key go to any partition.",
    "partitioner.availability.timeout.ms": "Records without a key go to any partition.",
    "session.timeout.ms": _NO_MEMBERS,
    "transactional.id": "Every thread of the application has its own.",
    "value.deserializer": _SERDES,
    "value.serializer": _SERDES,
}
"""Settings of clients that are accepted, and why they do nothing."""

REFUSED = {
    "config.providers": "Java classes can't be loaded. Give the values themselves, in the "
    "environment for example.",
    "partitioner": "Records of a key must meet. Give a sink a partitioner instead.",
    "partitioner.class": "Java classes can't be loaded. Give a sink a partitioner instead.",
    "partitioner.ignore.keys": "Records of a key must meet. Give a sink a partitioner instead.",
    "transaction.two.phase.commit.enable": "Kafka decides about transactions.",
}
"""Settings of clients that would change results if they were taken lightly, and why they can't
be had."""

TOPIC_SETTINGS = (
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "index.interval.bytes",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
    "unclean.leader.election.enable",
)
"""What `topic.` may stand before: the settings of the internal topics that are created."""
