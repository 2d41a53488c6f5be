# make demo   three methods label handwritten digits, and a report about it (two minutes, and set-up the first time)
# make test   every test
# make check  lint, format, types and import contracts
# make bench  every speed claim, as ratios measured in one run
# make docs   the pages that are made from the code
# Each makes .venv first where it is missing or out of date.

BIN := .venv/bin
SOURCES := pyproject.toml setup.py constraints.txt tools/setup src/versionspace/space/_kernels.c
# One thread each: two spinning OpenMP threads on a busy machine are slower than one.
QUIET := OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0

.PHONY: setup demo test check bench docs clean

setup: .venv/installed

.venv/installed: $(SOURCES)
	tools/setup dev
	@touch $@

.venv/installed-bench: .venv/installed
	tools/setup dev,bench
	@touch $@

demo: setup
	$(QUIET) $(BIN)/versionspace run demo --out runs/demo
	$(BIN)/versionspace report runs/demo --out runs/demo-report

test: setup
	$(QUIET) $(BIN)/python -m pytest

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/installed-bench
	$(QUIET) $(BIN)/python -m benchmarks

docs: setup
	$(BIN)/versionspace methods --as markdown > docs/methods.md

clean:
	rm -rf .venv build dist src/*.egg-info src/versionspace/space/*.so
