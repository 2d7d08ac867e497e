"""Word count: how often each word was seen so far.

Shows how to make several records of one, group a stream by something else than its key, and write
a table out as the stream of its updates.
"""

from __future__ import annotations

import re

from headrace import StreamsBuilder, Topology, serdes

SENTENCES = "sentences"
WORD_COUNTS = "word-counts"
COUNTS_STORE = "counts"


def topology() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream(SENTENCES, key=serdes.string(), value=serdes.string())
        .flat_map_values(words)
        .group_by(lambda _, word: word, key=serdes.string(), value=serdes.string())
        .count(COUNTS_STORE)
        .to_stream()
        .to(WORD_COUNTS, key=serdes.string(), value=serdes.long())
    )
    return builder.build()


def words(sentence: str) -> list[str]:
    return re.findall(r"[\w']+", sentence.lower())
