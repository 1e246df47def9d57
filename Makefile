# `make demo` and `make test` do everything, set-up included.
PYTHON ?= python3
BIN := .venv/bin
ARGS ?=

.PHONY: demo test lint types imports check bench bench-alarms bench-labels bench-intervals bench-alerting bench-producers bench-pages pictures faults clean

# The stamp is newer than the lock file exactly when the environment is up to date.
.venv: .venv/stamp

.venv/stamp: requirements.lock pyproject.toml client/pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { \
	  echo "Python 3.11 with its venv module is needed; on Debian: apt install python3-venv"; exit 1; }
	$(BIN)/python -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed"'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable client
	@touch .venv/stamp

demo: .venv
	$(BIN)/inferwatch demo $(ARGS)

test: .venv
	$(BIN)/python -m pytest $(ARGS)

lint: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv
	$(BIN)/mypy
	cd client && ../$(BIN)/mypy

imports: .venv
	$(BIN)/lint-imports

check: lint types imports test

bench: .venv
	$(BIN)/python -m benchmarks.intake $(ARGS)
	$(BIN)/python -m benchmarks.drift $(ARGS)

bench-alarms: .venv
	$(BIN)/python -m benchmarks.alarm_speed
	$(BIN)/python -m benchmarks.alarms $(ARGS)

bench-labels: .venv
	$(BIN)/python -m benchmarks.labels $(ARGS)

bench-intervals: .venv
	$(BIN)/python -m benchmarks.intervals $(ARGS)

bench-producers: .venv
	$(BIN)/python -m benchmarks.events
	$(BIN)/python -m benchmarks.client

bench-pages: .venv
	$(BIN)/python -m benchmarks.pages
	$(BIN)/python -m benchmarks.reports

bench-alerting: .venv
	$(BIN)/python -m benchmarks.alerting $(ARGS)

# Pictures of all pages in docs/images, from the installation in INFERWATCH_HOME that holds the demo.
pictures: .venv
	$(BIN)/python -m tests.acceptance.screenshots $(ARGS)

# 200 rounds of kill -9, refusals and outages on real processes; takes about half an hour.
faults: .venv
	$(BIN)/python -m tests.faults $(ARGS)

clean:
	rm -rf .venv .producervenvs .benchvenvs .mypy_cache .ruff_cache .pytest_cache
