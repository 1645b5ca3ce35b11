# Every target sets up what it needs in .venv; nothing outside this directory is touched.
# PYTHON chooses the interpreter (3.11 or newer): make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq

CREATED := $(VENV)/.created
BASE := $(VENV)/.base
DEV := $(VENV)/.dev
PEERS_VENV := .venv-peers
PEERS := $(PEERS_VENV)/.peers
DBT_VENV := .venv-dbt
DBT := $(DBT_VENV)/.dbt
ORCHESTRATORS_VENV := .venv-orchestrators
ORCHESTRATORS := $(ORCHESTRATORS_VENV)/.orchestrators
SQLMESH_VENV := .venv-sqlmesh
SQLMESH := $(SQLMESH_VENV)/.sqlmesh
FAKESNOW_VENV := .venv-fakesnow
FAKESNOW := $(FAKESNOW_VENV)/.fakesnow

QUICK := not soak and not postgres and not mariadb and not spark and not dbt and not browser and not process
QUICK_TESTS := tests/test_layout.py tests/spec tests/hierarchies tests/privacy tests/metrics tests/search tests/kit \
	tests/sql/test_packing.py tests/evaluation/test_sizes.py tests/recoding/schemes/test_families.py \
	tests/release/test_lock_diff.py tests/source tests/engines/test_duckdb.py tests/cli/test_commands.py \
	tests/pipeline/test_cases.py
# Each pair of an algorithm and a key: with these the inner loop would take twice as long.
QUICK_LEAVES := --deselect tests/spec/test_key_table.py::test_an_honoured_key_holds

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: docs pictures man help demo quick test coverage check bench golden soak fuzz clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(BASE) ## anonymize an invented table of patients, start to end
	@$(BIN)/sqlanon demo

quick: $(DEV) ## run what takes about a minute: pure tests and the basics on DuckDB
	@$(BIN)/python -m pytest -n 2 --dist worksteal --hypothesis-profile quick -m '$(QUICK)' $(QUICK_TESTS) $(QUICK_LEAVES) $(ARGS)

test: $(DEV) $(DBT) ## run the tests on two workers
	@$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

coverage: $(DEV) $(DBT) ## the same, and how much of the code they reach
	@$(BIN)/python -m pytest -n 2 --dist worksteal --cov $(ARGS)

check: $(DEV) ## formatting, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

bench: $(DEV) $(PEERS) ## measure the search against the engine's own scan and against peers
	@SQLANON_PEERS_PYTHON=$(PEERS_VENV)/bin/python $(BIN)/python -m benchmarks --plot docs/reference/performance.svg $(ARGS)

docs: $(DEV) ## build the documentation as a static site: build/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q
	@echo "build/site/index.html"

pictures: $(DEV) ## make the pictures of the documentation again; needs Chromium and the Adult data
	@$(BIN)/python -m tests.kit.pictures docs

man: $(BASE) ## write man pages to build/man/man1, made from the help of the commands
	@$(BIN)/python -m sqlanon.cli.man build/man/man1
	@echo "MANPATH=build/man: man sqlanon"

golden: $(DEV) ## rewrite the snapshots of generated SQL, and tables of the docs
	@$(BIN)/python -m pytest tests/golden tests/spec/test_key_table.py::test_the_page_has_the_table --update-golden -q $(ARGS)

soak: $(DEV) $(DBT) $(ORCHESTRATORS) $(SQLMESH) $(FAKESNOW) ## run the tests that take minutes, and properties on all their examples
	@$(BIN)/python -m pytest -m 'soak or hypothesis' --hypothesis-profile soak $(ARGS)

fuzz: $(DEV) ## release random tables and check them independently: SECONDS=600 SEED=0 ENGINE=duckdb
	@$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),600) --seed $(or $(SEED),0) $(addprefix --engine ,$(ENGINE)) $(ARGS)

clean: ## remove .venv, caches and build output
	@rm -rf $(VENV) $(PEERS_VENV) $(DBT_VENV) $(ORCHESTRATORS_VENV) $(SQLMESH_VENV) $(FAKESNOW_VENV) build dist htmlcov .coverage .coverage.* .hypothesis
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "clean"

$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "sqlanon needs Python 3.11 or newer, and '$(PYTHON)' is not: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
		exit 1; }
	@echo "creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(BASE): pyproject.toml | $(CREATED)
	@echo "installing sqlanon"
	@$(PIP) --editable .
	@touch $@

$(DEV): pyproject.toml | $(CREATED)
	@echo "installing sqlanon and its development tools (about a minute)"
	@$(PIP) --editable '.[dev]'
	@touch $(BASE) $@

# Peers pin other versions of what we use, so they live apart.
$(PEERS): | $(DEV)
	@echo "installing the peers that sqlanon is measured against"
	@$(PYTHON) -m venv --clear $(PEERS_VENV)
	@$(PEERS_VENV)/bin/python -m pip --disable-pip-version-check install -qq 'anjana>=1.2,<2' 'anonypy>=0.2,<1' 'pycanon>=1,<2'
	@$(PIP) --editable '.[report]'
	@touch $@

# dbt-core below 1.12 and mypy 2 ask for different versions of pathspec, so dbt lives apart. sqlanon is not installed
# beside it: what dbt builds needs no sqlanon.
$(DBT): pyproject.toml | $(CREATED)
	@echo "installing dbt for its tests (about a minute)"
	@test -x $(DBT_VENV)/bin/python || $(PYTHON) -m venv --clear $(DBT_VENV)
	@$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["dbt"], sep="\n")' \
		> $(DBT_VENV)/requirements.txt
	@$(DBT_VENV)/bin/python -m pip --disable-pip-version-check install -qq -r $(DBT_VENV)/requirements.txt
	@touch $@

# SQLMesh pins another sqlglot. What it audits needs no sqlanon.
$(SQLMESH): | $(DEV)
	@echo "installing SQLMesh for its test (about a minute)"
	@$(PYTHON) -m venv --clear $(SQLMESH_VENV)
	@$(SQLMESH_VENV)/bin/python -m pip --disable-pip-version-check install -qq 'sqlmesh>=0.230,<1'
	@touch $@

# An emulator of Snowflake, which pins another sqlglot and does not know the connector from version 5 on.
$(FAKESNOW): | $(DEV)
	@echo "installing fakesnow for its test (about a minute)"
	@$(PYTHON) -m venv --clear $(FAKESNOW_VENV)
	@$(FAKESNOW_VENV)/bin/python -m pip --disable-pip-version-check install -qq 'fakesnow>=0.12,<1' 'snowflake-connector-python<5'
	@touch $@

# Orchestrators pin much of what they use, so they live apart; two tests of `make soak` run releases in them.
$(ORCHESTRATORS): pyproject.toml | $(DEV)
	@echo "installing orchestrators for their tests (about a minute)"
	@test -x $(ORCHESTRATORS_VENV)/bin/python || $(PYTHON) -m venv --clear $(ORCHESTRATORS_VENV)
	@$(ORCHESTRATORS_VENV)/bin/python -m pip --disable-pip-version-check install -qq --editable '.[airflow,dagster]'
	@touch $@
