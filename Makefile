# make demo      label handwritten digits with three query methods and write a report (two minutes after set-up)
# make test      run every test
# make coverage  run every test and measure which lines of src they run (slower; fails below the threshold)
# make check     lint, format, types and import contracts
# make bench     measure every speed claim as a ratio within one run
# make docs      write the pages that are generated from the code
#
# Each target first creates or updates .venv with what it needs: the demo installs no development tools, no browser and
# no system packages.

BIN := .venv/bin
SOURCES := pyproject.toml setup.py constraints.txt tools/setup src/versionspace/space/_kernels.c
# Idle OpenMP threads sleep instead of spinning: on a busy machine, two spinning threads are slower than one.
QUIET := OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0

# Test files run in parallel, the tests of one file in order: they share fixtures. More workers than this wait for the
# longest file.
WORKERS := $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$(( n < 6 ? n : 6 )))

.PHONY: setup demo test coverage check bench docs clean
.NOTPARALLEL:  # two set-ups must not install into .venv at the same time

setup: .venv/installed-dev

.venv/installed-demo: $(SOURCES)
	tools/setup run,report
	@touch $@

# The development set-up includes the demo's.
.venv/installed-dev: $(SOURCES)
	tools/setup dev
	@touch $@ .venv/installed-demo

.venv/installed-bench: .venv/installed-dev
	tools/setup dev,bench
	@touch $@

demo: .venv/installed-demo
	$(QUIET) $(BIN)/versionspace run demo --out runs/demo
	$(BIN)/versionspace report runs/demo --out runs/demo-report

test: setup
	$(QUIET) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

coverage: setup
	rm -f .coverage .coverage.*
	$(QUIET) $(BIN)/coverage run -m pytest
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

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
