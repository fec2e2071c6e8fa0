# Needs make and Python 3.11 or newer; everything else is installed into .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PINS := requirements/constraints.txt
INSTALL := PYTHON=$(PYTHON) VENV=$(VENV) requirements/install.sh
CODE := src tests nodes demo benchmarks integrations

# Without stored bytecode every start of a process compiles its imports anew, which takes longer than most runs here.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test lint format type docs docs-fresh docs-check soak bench bench-peers constraints build all clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.runtime ## validate and test the example and run three tickets, offline
	@$(BIN)/python -m demo.run_demo

test: $(VENV)/.dev $(VENV)/.node $(VENV)/.browser ## run every test
	@$(BIN)/pytest -n auto --dist worksteal $(PYTEST_FLAGS)

soak: $(VENV)/.dev $(VENV)-schemathesis/.ready ## run the long tests: a crash before and after every row of a record, workers killed at random
	@TUVL_SOAK=1 $(BIN)/pytest -n auto $(PYTEST_FLAGS) tests/durable tests/hosting tests/server \
		tests/cli/test_cli_process.py tests/spec/test_shape_property.py tests/check/test_kept_reports.py

lint: $(VENV)/.dev ## look for mistakes and bad habits
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)

format: $(VENV)/.dev ## mend what can be mended
	@$(BIN)/ruff check --fix $(CODE)
	@$(BIN)/ruff format $(CODE)

type: $(VENV)/.dev ## check the types
	@$(BIN)/mypy

docs: $(VENV)/.dev ## write the generated pages and schemas anew
	@$(BIN)/python -m tuvl.spec.generate --reference docs/language.md
	@$(BIN)/python -m tuvl.check.generate
	@$(BIN)/python -m grpc_tools.protoc -Isrc --python_out=src --pyi_out=src src/tuvl/rpc/runs.proto
	@$(BIN)/python -m tuvl.cli.reference > docs/cli.md.new && mv docs/cli.md.new docs/cli.md

docs-fresh: $(VENV)/.dev ## see that the generated pages are fresh
	@$(BIN)/python -m tuvl.spec.generate --check --reference docs/language.md
	@$(BIN)/python -m tuvl.check.generate --check
	@$(BIN)/python -m tuvl.cli.reference | diff -u docs/cli.md - || { echo "stale: docs/cli.md; run make docs"; exit 1; }

docs-check: docs-fresh ## see that pages are fresh, links lead somewhere, and examples do what they say
	@$(BIN)/pytest -q -n auto $(PYTEST_FLAGS) tests/test_docs.py

bench: $(VENV)/.dev ## measure, and write benchmarks/RESULTS.md
	@$(BIN)/python -m benchmarks

bench-peers: $(VENV)/.dev $(VENV)-peers/.ready ## measure tuvl beside other libraries, and write benchmarks/PEERS.md
	@$(BIN)/python -m benchmarks.peers $(VENV)-peers/bin/python

$(VENV)-schemathesis/.ready: requirements/schemathesis.txt
	@$(BIN)/uv venv -q --clear $(VENV)-schemathesis
	@$(BIN)/uv pip install -q --python $(VENV)-schemathesis/bin/python -r requirements/schemathesis.txt
	@touch $@

$(VENV)-peers/.ready: requirements/peers.txt
	@$(BIN)/uv venv -q --clear $(VENV)-peers
	@$(BIN)/uv pip install -q --python $(VENV)-peers/bin/python -r requirements/peers.txt
	@touch $@

constraints: $(VENV)/.dev ## pin the newest versions that fit together
	@$(BIN)/uv pip compile pyproject.toml --group dev --all-extras --universal --upgrade --no-header --no-annotate -q -o $(PINS)

all: lint type docs-fresh demo test ## everything CI does

clean: ## remove what was made here, the environment included
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .tuvl
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.runtime: pyproject.toml $(PINS) requirements/install.sh
	@echo "installing tuvl into $(VENV)"
	@$(INSTALL) runtime
	@touch $@

# Servers from npm that the tests run against. Without npm those tests fail, and say what is missing.
$(VENV)/.node: tests/support/node/package.json tests/support/node/package-lock.json $(VENV)/.dev
	@VENV=$(VENV) requirements/install_node.sh

# A browser for the tests of the run pages. Without one those tests fail, and say what is missing.
$(VENV)/.browser: requirements/install_browser.sh $(VENV)/.dev
	@VENV=$(VENV) requirements/install_browser.sh

$(VENV)/.dev: pyproject.toml $(PINS) requirements/install.sh
	@echo "installing tuvl and its development tools into $(VENV)"
	@$(INSTALL) dev
	@touch $@ $(VENV)/.runtime
