"""Files that are not as they were written: what is read is right, or nothing is."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from headrace.runtime.stores import StorageError
from headrace.runtime.stores.storage import Storage
from headrace.state import Checkpoint, TaskState
from headrace.state.checksums import CHECKSUMS_FILE, DATA_FILE, Checksums
from headrace.state.data_file import DataFile, Tree, read_meta
from headrace.state.reader import StateReader

IDENTITY = "app 0_0"
PAGE = 4096
EACH = 75
"""So many mutations of each kind: 525 of files at rest, and some more of files in use."""

Maps = Mapping[str, Mapping[bytes, bytes]]


@pytest.fixture(autouse=True)
def no_wait_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda file: None)


class Sample(NamedTuple):
    """A directory after its last commit and after an earlier one, and what is in it."""

    path: Path
    earlier: Path
    maps: Maps
    checkpoint: Checkpoint


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Three maps with plain, long and empty keys, values of all sizes, and a list of free pages."""
    root = tmp_path_factory.mktemp("sample")
    chance = random.Random(5)
    state = TaskState(root / "0_0", IDENTITY)
    state.acquire(0)
    maps: dict[str, dict[bytes, bytes]] = {"a": {}, "b/1": {}, "b/2": {}}
    for number in range(40):
        for name, expected in maps.items():
            for _ in range(chance.choice([1, 5, 60])):
                key = b"%d" % chance.randrange(400) * chance.choice([1, 1, 1, 1, 300])
                if chance.random() < 0.25:
                    expected.pop(key, None)
                    state.map(name).delete(key)
                else:
                    expected[key] = chance.randbytes(chance.choice([0, 8, 8, 80, 800, 9000]))
                    state.map(name).put(key, expected[key])
        state.commit(Checkpoint("run", number), {"a": {"number": number}})
        if number == 30:
            state.release()
            shutil.copytree(root / "0_0", root / "earlier")
            state.acquire(0)
    checkpoint = state.checkpoint
    assert checkpoint is not None
    state.close()
    return Sample(root / "0_0", root / "earlier", maps, checkpoint)


def flip_a_bit(file: Path, other: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


def cut(file: Path, other: Path, chance: random.Random) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: chance.randrange(len(data))])


def pages(file: Path) -> list[bytes]:
    data = file.read_bytes()
    return [data[at : at + PAGE] for at in range(0, len(data), PAGE)]


def zero_a_page(file: Path, other: Path, chance: random.Random) -> None:
    found = pages(file)
    found[chance.randrange(len(found))] = bytes(PAGE)
    file.write_bytes(b"".join(found))


def swap_two_pages(file: Path, other: Path, chance: random.Random) -> None:
    found = pages(file)
    one, two = chance.randrange(len(found)), chance.randrange(len(found))
    found[one], found[two] = found[two], found[one]
    file.write_bytes(b"".join(found))


def old_page_for_new(file: Path, other: Path, chance: random.Random) -> None:
    found, before = pages(file), pages(other)
    changed = [n for n, (old, new) in enumerate(zip(before, found, strict=False)) if old != new]
    for number in chance.sample(changed, min(len(changed), chance.choice([1, 1, 3]))):
        found[number] = before[number]
    file.write_bytes(b"".join(found))


def old_file_for_new(file: Path, other: Path, chance: random.Random) -> None:
    shutil.copyfile(other, file)


def overwrite_some(file: Path, other: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    at = chance.randrange(len(data))
    piece = chance.randbytes(chance.choice([2, 8, 512]))
    data[at : at + len(piece)] = piece
    file.write_bytes(data)


Mutation = Callable[[Path, Path, random.Random], None]
MUTATIONS: list[Mutation] = [
    flip_a_bit, cut, zero_a_page, swap_two_pages, old_page_for_new, old_file_for_new,
    overwrite_some,
]  # fmt: skip


def mutate(mutation: Mutation, path: Path, sample: Sample, chance: random.Random) -> str:
    """Change one file of a directory; says which."""
    name = chance.choice([DATA_FILE] * 5 + [CHECKSUMS_FILE, ".lock"])
    mutation(path / name, sample.earlier / name, chance)
    return name


def assert_right(storage: Storage, sample: Sample) -> None:
    for name, expected in sample.maps.items():
        entries = storage.map(name)
        assert dict(entries.range(None, None)) == expected
        assert dict(entries.reverse_range(None, None)) == expected
        assert len(entries) == len(expected)
        for number in range(400):
            for key in (b"%d" % number, b"%d" % number * 300):
                assert entries.get(key) == expected.get(key)
    assert sorted(storage.names("")) == sorted(sample.maps)
    assert storage.facts("a") == {"number": sample.checkpoint.sequence}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_what_has_changed_at_rest_is_never_believed(
    mutation: Mutation, sample: Sample, tmp_path: Path
) -> None:
    chance = random.Random(mutation.__name__)
    outcomes = Counter[str]()
    for number in range(EACH):
        path = tmp_path / str(number)
        shutil.copytree(sample.path, path)
        mutate(mutation, path, sample, chance)
        reader = StateReader(path, IDENTITY)
        snapshot = reader.snapshot()
        if snapshot is not None:
            assert snapshot.checkpoint == sample.checkpoint
            assert_right(snapshot, sample)
            snapshot.release()
        reader.close()
        state = TaskState(path, IDENTITY)
        state.acquire(0)
        if state.checkpoint is None:
            outcomes["wiped"] += 1
            assert state.names("") == []
        else:
            outcomes["right"] += 1
            assert state.reset_reason is None
            assert state.checkpoint == sample.checkpoint
            assert_right(state, sample)
        # And nothing is left of it that could show later.
        state.map("a").put(b"new", b"1")
        state.commit(Checkpoint("run", 99), {})
        state.release()
        Checksums(path).check(thorough=True)
        state.close()
        shutil.rmtree(path)
    assert outcomes["wiped"] > EACH / 10, outcomes


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_what_has_changed_between_two_turns_is_never_believed(
    mutation: Mutation, sample: Sample, tmp_path: Path
) -> None:
    chance = random.Random(mutation.__name__ + " in use")
    found = 0
    for number in range(EACH // 3):
        path = tmp_path / str(number)
        shutil.copytree(sample.path, path)
        state = TaskState(path, IDENTITY)
        state.acquire(0)
        state.release()
        if mutation is cut:
            # A file that others have mapped can't be made shorter without harm to them.
            state._close_environment()
        mutate(mutation, path, sample, chance)
        state.acquire(0)
        if state.checkpoint is None:
            found += 1
        else:
            assert_right(state, sample)
        state.close()
        shutil.rmtree(path)
    assert found > EACH / 30


@pytest.mark.parametrize("mutation", [flip_a_bit, zero_a_page, old_page_for_new, overwrite_some])
def test_a_reader_that_has_it_open_notices(
    mutation: Mutation, sample: Sample, tmp_path: Path
) -> None:
    chance = random.Random(mutation.__name__ + " read")
    found = 0
    for number in range(EACH // 3):
        path = tmp_path / str(number)
        shutil.copytree(sample.path, path)
        reader = StateReader(path, IDENTITY)
        snapshot = reader.snapshot()
        assert snapshot is not None
        snapshot.release()
        mutate(mutation, path, sample, chance)
        reader._look_at = 0.0
        snapshot = reader.snapshot()
        if snapshot is None:
            found += 1
            assert reader.snapshot() is None
        else:
            assert_right(snapshot, sample)
            snapshot.release()
        reader.close()
        shutil.rmtree(path)
    assert found > EACH / 30


def test_a_reader_goes_on_after_a_file_was_touched(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "0_0"
    shutil.copytree(sample.path, path)
    reader = StateReader(path, IDENTITY)
    for _ in range(3):
        (path / DATA_FILE).touch()
        reader._look_at = 0.0
        snapshot = reader.snapshot()
        assert snapshot is not None
        assert_right(snapshot, sample)
        snapshot.release()
    reader.close()


def test_only_what_is_new_is_summed_after_a_commit(tmp_path: Path) -> None:
    """The tree of pages is followed where it has changed, and all pages that it has are known."""
    state = TaskState(tmp_path, IDENTITY)
    state.acquire(0)
    for number in range(20_000):
        state.map("a").put(b"%05d" % number, b"v" * 40)
    state.commit(Checkpoint("run", 1), {})
    before = read_meta(tmp_path / DATA_FILE)
    state.map("a").put(b"00007", b"changed")
    state.commit(Checkpoint("run", 2), {})
    after = read_meta(tmp_path / DATA_FILE)
    assert before is not None
    assert after is not None
    nothing = before._replace(free=Tree(0, 0, 0), main=Tree(0, 0, 0))
    with DataFile(tmp_path / DATA_FILE) as file:
        assert len(file.added(after, before)) < 12
        all_pages = file.added(after, nothing)
    assert 200 < len(all_pages) < after.last_page
    state.close()


def test_damage_that_comes_during_a_turn_ends_with_it(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "0_0"
    shutil.copytree(sample.path, path)
    state = TaskState(path, IDENTITY)
    state.acquire(0)
    with (path / DATA_FILE).open("r+b") as data:
        data.seek(2 * PAGE)
        data.write(bytes((path / DATA_FILE).stat().st_size - 2 * PAGE))
    with pytest.raises(StorageError):
        state.map("a").get(b"7")
    state.release()
    state.acquire(0)
    assert state.checkpoint is None
    state.close()
