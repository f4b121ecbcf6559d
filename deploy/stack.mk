# Targets of the stack: for the Makefile of the repository, and for that of `draftboard stack init`.

PYTHON ?= python3
DRAFTBOARD ?= draftboard
# The user's settings, if present, and the folder for the files built from them. Git ignores both.
CONFIG := $(firstword $(wildcard deploy/my.toml) deploy/draftboard.toml)
OUT := $(if $(filter deploy/draftboard.toml,$(CONFIG)),.,deploy/built)

.PHONY: help build check secrets up up-demo reload down
.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Generate dashboards, rules and stack configuration
	$(DRAFTBOARD) build --config $(CONFIG) --out $(OUT)

check: ## Check that the generated files are up to date
	$(DRAFTBOARD) check --config $(CONFIG) --out $(OUT)

secrets: ## Create missing secrets and deploy/.env
	@$(PYTHON) deploy/tools/make_secrets.py

up: ## Start the stack of deploy/.env (EXAMPLE=eagle3: that model)
	@$(PYTHON) deploy/tools/stack.py up $(if $(EXAMPLE),--example $(EXAMPLE))

up-demo: ## Start the stack with simulated servers; no GPU needed
	@$(PYTHON) deploy/tools/stack.py up --demo

reload: ## Read changed settings without a restart
	@$(PYTHON) deploy/tools/stack.py reload $(if $(EXAMPLE),--example $(EXAMPLE))

down: ## Stop both stacks; volumes are kept
	@$(PYTHON) deploy/tools/stack.py down
