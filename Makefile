# `make demo` and `make test` set up all they need: a virtual environment in .venv, Prometheus and its kin in .tools.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := .tools
COMPOSE := docker compose --file deploy/docker-compose.yml \
	$(if $(EXAMPLE),$(patsubst %,--env-file %,$(wildcard deploy/.env) deploy/examples/$(EXAMPLE).env))
# Settings of yours, where there are some, and where what they make is written: Git sees neither.
CONFIG := $(firstword $(wildcard deploy/my.toml) deploy/draftboard.toml)
OUT := $(if $(filter deploy/draftboard.toml,$(CONFIG)),.,deploy/built)
RECORDING := deploy/demo/run-v0.32.0-ngram-vs-baseline.om.gz

# Programs that the user names are taken as they are; what is not named is fetched into the private folder.
TOOL := $(CURDIR)/$(TOOLS)/bin
ifeq ($(and $(PROMETHEUS),$(PROMTOOL)),)
FETCHED += $(TOOL)/prometheus
endif
ifeq ($(and $(ALERTMANAGER),$(AMTOOL)),)
FETCHED += $(TOOL)/alertmanager
endif
ifeq ($(DOCKER_COMPOSE),)
CONFIGURED := $(TOOL)/docker-compose
endif
PROMETHEUS ?= $(TOOL)/prometheus
PROMTOOL ?= $(TOOL)/promtool
ALERTMANAGER ?= $(TOOL)/alertmanager
AMTOOL ?= $(TOOL)/amtool
DOCKER_COMPOSE ?= $(TOOL)/docker-compose
export PROMETHEUS PROMTOOL ALERTMANAGER AMTOOL DOCKER_COMPOSE

.PHONY: help demo test test-vllm unit lint typecheck build check mutate detect bench-simulator secrets up up-demo down \
	docker-is-here secrets-are-here settings-are-heard tools clean
.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo $(FETCHED) ## Replay a recorded vLLM run, then see a live alert arrive (KEEP=1 leaves Prometheus running)
	@$(BIN)/draftboard replay $(RECORDING) --config deploy/demo/draftboard.toml $(if $(KEEP),--keep)
	@echo
	@$(BIN)/draftboard drill deploy/demo/drafter-breaks.toml --config deploy/demo/drill.toml --speed 60

test: lint typecheck $(FETCHED) $(CONFIGURED) ## Lint, check types, and run all tests, against a real Prometheus
	$(BIN)/pytest -n auto --dist loadgroup

unit: $(VENV)/.dev ## Run the tests that start no server
	$(BIN)/pytest -m "not prometheus"

test-vllm: $(VENV)/.dev ## Ask a real vLLM without a GPU whether the commands tell the truth (3.5 GB, minutes)
	@$(PYTHON) tests/scripts/install_vllm.py .venv-vllm
	$(BIN)/pytest tests/vllm

lint: $(VENV)/.dev ## Check style and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=generator $(BIN)/lint-imports --config pyproject.toml --no-logo

typecheck: $(VENV)/.dev ## Check types, strictly
	$(BIN)/mypy

build: $(VENV)/.runtime ## Write dashboards, rules and configuration; from deploy/my.toml, where it is, into deploy/built
	$(BIN)/draftboard build --config $(CONFIG) --out $(OUT)

check: $(VENV)/.runtime ## Say whether all that is as built
	$(BIN)/draftboard check --config $(CONFIG) --out $(OUT)

mutate: $(VENV)/.dev $(FETCHED) ## Change the rules one place at a time: does a promtool case notice each?
	PYTHONPATH=tests $(BIN)/python -m scripts.mutate --promtool $(PROMTOOL)

detect: $(VENV)/.dev $(FETCHED) ## Replay every scenario and write how soon each alert tells of it
	PYTHONPATH=tests $(BIN)/python -m scripts.detection --prometheus $(PROMETHEUS) --promtool $(PROMTOOL)

bench-simulator: $(VENV)/.dev ## Measure what an hour of one engine costs to simulate
	PYTHONPATH=tests $(BIN)/python -m scripts.bench_simulator

secrets: ## Make the stack's random secrets and deploy/.env; what is there stays
	@$(PYTHON) deploy/tools/make_secrets.py

up: docker-is-here secrets-are-here settings-are-heard ## Start the stack that deploy/.env describes (EXAMPLE=eagle3 takes the model of deploy/examples/)
	$(COMPOSE) up --detach

up-demo: docker-is-here secrets-are-here ## Start the simulator's own stack: needs no GPU, tells nobody, keeps its data apart
	BUILD_FOLDER=.. COMPOSE_PROFILES=demo $(COMPOSE) --project-name draftboard-demo up --detach --build

down: docker-is-here ## Stop the stack and the simulator's; what they have stored stays
	COMPOSE_PROFILES='*' $(COMPOSE) down
	COMPOSE_PROFILES='*' $(COMPOSE) --project-name draftboard-demo down

docker-is-here:
	@docker compose version >/dev/null 2>&1 || \
		{ echo "This needs Docker with Compose, see docs/install.md; what needs neither: make demo" >&2; exit 2; }

secrets-are-here:
	@test -d deploy/secrets || { echo "deploy/secrets is missing. Run: make secrets" >&2; exit 2; }

settings-are-heard:
	@if test -e deploy/my.toml; then \
		grep -Eqs "^BUILD_FOLDER=[\"']?(\./)?built/?[\"']?[[:space:]]*$$" deploy/.env || \
			{ echo "Nobody reads what deploy/my.toml makes: write BUILD_FOLDER=built into deploy/.env" >&2; exit 2; }; \
		test deploy/built/alerts/alerting.rules.yaml -nt deploy/my.toml || \
			{ echo "deploy/my.toml is newer than deploy/built. Run: make build" >&2; exit 2; }; \
	fi

tools: $(FETCHED) $(CONFIGURED) ## Fetch Prometheus, Alertmanager and Docker Compose into .tools

clean: ## Remove the virtual environment, the tools and all caches
	rm -rf $(VENV) .venv-vllm $(TOOLS) build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf generator/draftboard.egg-info

$(VENV)/.pip: constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Draftboard needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt 'pip>=25.1'
	@touch $@

$(VENV)/.runtime: $(VENV)/.pip pyproject.toml
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.demo: $(VENV)/.runtime
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[lab]'
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[plots,lab]' --group dev
	@touch $@

$(TOOL)/prometheus $(TOOL)/alertmanager $(TOOL)/docker-compose: deploy/tools/fetch.py
	$(PYTHON) deploy/tools/fetch.py $(@F) --into $(TOOLS)
	@touch $@
