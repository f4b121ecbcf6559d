# `make demo` and `make test` install what they need: Python packages in .venv, Prometheus and other programs in .tools.

VENV := .venv
BIN := $(VENV)/bin
DRAFTBOARD := $(BIN)/draftboard
# `make install` links the program into its folder bin.
PREFIX ?= $(HOME)/.local
# Python compiles what is imported; to compile all that is installed takes longer than to install it.
INSTALL := $(BIN)/pip install --quiet --no-compile --constraint constraints.txt
# Of pip's words offline, the last line speaks of conflicting dependencies.
UNLESS_OFFLINE = 2>$(VENV)/pip.log || { echo "Python packages were not installed: is a package index within reach? \
PIP_INDEX_URL names a mirror. What pip says is in $(VENV)/pip.log" >&2; exit 2; }
# With the hashes of constraints.txt pip takes no folder beside packages: what the project needs comes first.
NEEDS = $(PYTHON) tests/scripts/needs.py
ITSELF := $(BIN)/pip install --quiet --no-compile --no-deps --no-build-isolation --editable .
TOOLS := .tools
# Grafana's published front end: what npm installs for tests/grafana, and the browser that runs it.
GRAFANA := tests/grafana/node_modules/.package-lock.json
OLDER_GRAFANA := $(patsubst %/package-lock.json,%/node_modules/.package-lock.json,$(wildcard tests/grafana/versions/*/package-lock.json))
CHROMIUM ?= chromium
# Models of Kubernetes and its operators, in a folder of their own: they bring a plugin that every run of pytest would load.
KUBERNETES := $(TOOLS)/kubernetes/.installed
export CHROMIUM

# A program named in the environment is used as it is; all others are fetched into .tools.
TOOL := $(CURDIR)/$(TOOLS)/bin
ifeq ($(and $(PROMETHEUS),$(PROMTOOL)),)
FETCHED += $(TOOL)/prometheus
endif
ifeq ($(and $(ALERTMANAGER),$(AMTOOL)),)
FETCHED += $(TOOL)/alertmanager
endif
ifeq ($(DOCKER_COMPOSE),)
FETCHED_COMPOSE := $(TOOL)/docker-compose
endif
ifeq ($(and $(VICTORIA_METRICS),$(VMAGENT),$(VMALERT)),)
FETCHED_VICTORIA := $(TOOL)/victoria-metrics
endif
OPTIONAL := $(notdir $(filter %/alertmanager,$(FETCHED)) $(FETCHED_COMPOSE))
PROMETHEUS ?= $(TOOL)/prometheus
PROMTOOL ?= $(TOOL)/promtool
ALERTMANAGER ?= $(TOOL)/alertmanager
AMTOOL ?= $(TOOL)/amtool
DOCKER_COMPOSE ?= $(TOOL)/docker-compose
VICTORIA_METRICS ?= $(TOOL)/victoria-metrics
VMAGENT ?= $(TOOL)/vmagent
VMALERT ?= $(TOOL)/vmalert
export PROMETHEUS PROMTOOL ALERTMANAGER AMTOOL DOCKER_COMPOSE VICTORIA_METRICS VMAGENT VMALERT
# The tests start Python a hundred times: what it has compiled is kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo install dist listing test test-dist test-docs test-long test-vllm test-dialects test-wheel test-grafana test-kubernetes test-stack test-stack-vllm \
	test-victoria test-cluster test-ruler docs pictures recording quick unit lint format typecheck test-floors constraints \
	image push-image mutate detect false-alarms costs intervals schemas bench bench-simulator check-chromium optional-tools tools clean

include deploy/stack.mk

demo: $(VENV)/.demo $(FETCHED) ## Replay a recorded run, then drill a live alert
	@$(DRAFTBOARD) demo $(if $(KEEP),--keep) $(if $(DETAILS),--details)

install: $(VENV)/.installed ## Put draftboard on PATH, a link in PREFIX/bin (~/.local)
	@mkdir -p "$(PREFIX)/bin"
	@ln -sf "$(CURDIR)/$(DRAFTBOARD)" "$(PREFIX)/bin/draftboard"
	@for place in bash:bash-completion/completions/draftboard zsh:zsh/site-functions/_draftboard \
		fish:fish/vendor_completions.d/draftboard.fish; do \
		file="$(PREFIX)/share/$${place#*:}"; mkdir -p "$${file%/*}"; \
		_DRAFTBOARD_COMPLETE="$${place%%:*}_source" $(DRAFTBOARD) > "$$file" || exit; \
	done
	@echo "$(PREFIX)/bin/draftboard runs from $(CURDIR)."
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "Add $(PREFIX)/bin to PATH." ;; esac

test: ## Run lint, type checks and all tests, with a real Prometheus
	@$(MAKE) --no-print-directory --jobs=4 lint typecheck optional-tools "OPTIONAL=$(OPTIONAL)" \
		$(filter %/prometheus,$(FETCHED))
	$(BIN)/pytest -n auto --dist loadgroup --no-loadscope-reorder -m "not long"

quick: $(VENV)/.dev ## Run the tests nearest to what has changed
	PYTHONPATH=tests $(BIN)/python -m scripts.quick

unit: $(VENV)/.dev ## Run tests/unit, without Prometheus
	$(BIN)/pytest -n auto --dist loadgroup --no-loadscope-reorder -m "not prometheus and not long" tests/unit

test-long: $(VENV)/.dev $(FETCHED) ## Replay every scenario, build settings at random
	$(BIN)/pytest -n auto --dist loadgroup --no-loadscope-reorder -m long

test-vllm: $(VENV)/.dev $(FETCHED) ## Compare the commands with a real vLLM on the CPU (3.5 GB)
	@$(PYTHON) tests/scripts/install_vllm.py .venv-vllm
	$(BIN)/pytest tests/vllm

test-dialects: $(VENV)/.dev $(FETCHED) $(FETCHED_VICTORIA) ## Compare with real llama.cpp, Ray Serve (4 GB), OTLP
	@$(PYTHON) tests/scripts/install_llama.py .llama
	@$(PYTHON) tests/scripts/install_vllm.py .venv-vllm \
		&& .venv-vllm/bin/python -m pip install --quiet --no-deps --requirement tests/scripts/ray-requirements.txt \
		|| echo "Ray Serve with vLLM is not installed: its tests are skipped"
	$(BIN)/pytest -rs tests/dialects

test-wheel: $(VENV)/.dev $(FETCHED) $(FETCHED_COMPOSE) ## Install the wheel and use it in an empty folder
	$(BIN)/pytest tests/wheel

test-dist: $(VENV)/.dist $(FETCHED) check-chromium $(GRAFANA) build/dist/SHA256SUMS ## Check the files of build/dist
	$(BIN)/pytest tests/dist

test-grafana: $(VENV)/.dev $(FETCHED) check-chromium $(GRAFANA) $(OLDER_GRAFANA) ## Check dashboards in Grafana's own front end
	$(BIN)/pytest tests/grafana

test-kubernetes: $(VENV)/.dev $(KUBERNETES) ## Check the Helm chart with its readers' models
	PYTHONPATH=$(dir $(KUBERNETES)) $(BIN)/pytest -p no:cloudcoil tests/kubernetes

test-stack: $(VENV)/.dev $(FETCHED) $(FETCHED_COMPOSE) $(FETCHED_VICTORIA) ## Start the stack in real containers, change it and break it
	$(BIN)/pytest tests/stack -m "not vllm"

test-stack-vllm: $(VENV)/.dev $(FETCHED) $(FETCHED_COMPOSE) $(FETCHED_VICTORIA) ## The same with a real vLLM on the CPU (3.5 GB)
	@$(PYTHON) tests/scripts/install_vllm.py .venv-vllm
	$(BIN)/pytest tests/stack -m vllm

docs: $(VENV)/.docs ## Build the documentation as a site in build/site
	PYTHONPATH=generator:tests NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

test-docs: $(VENV)/.docs $(FETCHED) ## Build the site strictly, run what the documentation shows
	$(BIN)/pytest tests/docs tests/unit/test_documented_commands.py
	@PYTHONPATH=tests $(BIN)/python -m support.documented | sort

recording: $(VENV)/.dev $(FETCHED) ## Write down what make demo prints and serve answers
	PYTHONPATH=tests $(BIN)/python -m scripts.recording
	PYTHONPATH=tests $(BIN)/python -m scripts.transcript

test-victoria: $(VENV)/.dev $(FETCHED) $(FETCHED_VICTORIA) ## Compare VictoriaMetrics with Prometheus; kill a replica
	VM_BIN= $(BIN)/pytest tests/victoria

test-ruler: $(VENV)/.dev ## Load rules into a stand-in of Mimir's ruler
	$(BIN)/pytest tests/rulers

test-cluster: $(VENV)/.dev $(FETCHED) ## The same with a cluster, of programs in VM_BIN
	@test -x "$(VM_BIN)/vmselect" || { echo "VM_BIN=$(VM_BIN) has no vmselect. Set it to a folder with vminsert, \
	vmselect, vmstorage, vmagent and vmalert" >&2; exit 2; }
	VMAGENT="$(VM_BIN)/vmagent" VMALERT="$(VM_BIN)/vmalert" $(BIN)/pytest tests/victoria

pictures: $(VENV)/.dev $(FETCHED) check-chromium $(GRAFANA) ## Draw the pictures of the documentation
	PYTHONPATH=tests $(BIN)/python -m scripts.pictures docs/pictures

lint: $(VENV)/.dev ## Check style, import directions, shell scripts and workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=generator $(BIN)/lint-imports --config pyproject.toml --no-logo
	$(BIN)/shellcheck deploy/*/*.sh
	$(BIN)/zizmor --offline --quiet .github action.yml

format: $(VENV)/.dev ## Format the code and fix style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

typecheck: $(VENV)/.dev ## Check types with mypy --strict
	$(BIN)/mypy

# Python of the lowest versions, and of the highest.
LOWEST ?= python3.11
HIGHEST ?= python3.13 $(shell command -v python3.14)

test-floors: $(VENV)/.floors ## Run the unit tests with lowest and highest versions
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/scripts/floors.py lowest $(LOWEST)
	set -e; for python in $(HIGHEST); do \
		PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/scripts/floors.py highest $$python; done

constraints: $(VENV)/.floors ## Write the newest allowed versions and their hashes
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11.5 --generate-hashes --no-annotate --no-header \
		--all-extras --group dev --group dist --group docs --group kubernetes --group floors pyproject.toml \
		--custom-compile-command "make constraints" --output-file constraints.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-annotate --no-header \
		--extra lab --extra mcp --group image pyproject.toml --constraint constraints.txt \
		--custom-compile-command "make constraints" --output-file deploy/simulator/constraints.txt

build check: $(VENV)/.runtime

mutate: $(VENV)/.dev $(FETCHED) ## Check that the promtool cases detect every change of a rule
	PYTHONPATH=tests $(BIN)/python -m scripts.mutate --promtool $(PROMTOOL)

budget: $(VENV)/.dev $(FETCHED) ## Count what rules and pages read; write it down
	PYTHONPATH=tests $(BIN)/python -m scripts.budget --prometheus $(PROMETHEUS)

detect: $(VENV)/.dev $(FETCHED) ## Measure how soon alerts tell; write it to docs/
	PYTHONPATH=tests $(BIN)/python -m scripts.detection --prometheus $(PROMETHEUS) --promtool $(PROMTOOL)
	PYTHONPATH=tests $(BIN)/python -m scripts.alerts_page --promtool $(PROMTOOL)

false-alarms: $(VENV)/.dev ## Simulate months of steady traffic, count alerts that fire
	PYTHONPATH=tests $(BIN)/python -m scripts.false_alarms

costs: $(VENV)/.dev ## Fit the assumed costs to published measurements
	PYTHONPATH=tests $(BIN)/python -m scripts.costs

intervals: $(VENV)/.dev ## Count how often the intervals of calibrate hold the truth
	PYTHONPATH=tests $(BIN)/python -m scripts.interval_coverage

bench-simulator: $(VENV)/.dev ## Measure the cost of one simulated engine hour
	PYTHONPATH=tests $(BIN)/python -m scripts.bench_simulator

dist: $(VENV)/.dist ## Write a release to build/dist (TAG=v1.2.3: of no other)
	rm -rf build/dist
	PYTHONPATH=tests $(BIN)/python -m scripts.dist build/dist $(if $(TAG),--tag $(TAG))

listing: $(VENV)/.runtime ## Write what grafana.com lists to build/listing
	rm -rf build/listing
	PYTHONPATH=tests $(BIN)/python -m scripts.listing build/listing

build/dist/SHA256SUMS:
	@$(MAKE) --no-print-directory dist

IMAGE ?= draftboard:local
BUILD_IMAGE = --file deploy/simulator/Dockerfile --target cli --build-arg EXTRAS=mcp --tag $(IMAGE) \
	--build-arg PYTHON_IMAGE=$(shell sed -n 's/.*&python-image //p' deploy/docker-compose.yml)

image: ## Build an image of the command line (IMAGE=draftboard:local)
	docker build $(BUILD_IMAGE) .

push-image: ## Build it for amd64 and arm64, and push it
	docker buildx create --use
	docker buildx build --platform linux/amd64,linux/arm64 $(BUILD_IMAGE) --push .

schemas: $(VENV)/.dev ## Write the JSON Schemas of all commands to docs/schemas/
	PYTHONPATH=tests $(BIN)/python -m scripts.schemas

bench: $(VENV)/.dev $(FETCHED) ## Measure 10 to 3,000 engines; write it to docs/ (30 min)
	PYTHONPATH=tests $(BIN)/python -m scripts.bench --prometheus $(PROMETHEUS) --promtool $(PROMTOOL)

check-chromium:
	@command -v $(CHROMIUM) >/dev/null || { echo "$(CHROMIUM) is missing. Run: apt-get install \
	--no-install-recommends chromium fonts-inter, or set CHROMIUM" >&2; exit 2; }
	@command -v npm >/dev/null || { echo "npm is missing. Install Node.js 20 or newer with npm" >&2; exit 2; }

# Where a program cannot be had (status 3), tests that need it are skipped, except in CI.
optional-tools:
ifneq ($(OPTIONAL),)
	@$(PYTHON) deploy/tools/fetch.py $(OPTIONAL) --into $(TOOLS) || [ $$? = 3 -a -z "$$CI" ]
endif

tools: $(FETCHED) $(FETCHED_COMPOSE) ## Fetch Prometheus, Alertmanager and Docker Compose

clean: ## Remove .venv, .tools and all caches
	rm -rf $(VENV) .venv-vllm $(TOOLS) build tests/grafana/node_modules tests/grafana/versions/*/node_modules tests/grafana/dist
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.pip: constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is required: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@{ sed -n '/^pip==/,/[^\\]$$/p' constraints.txt | $(BIN)/pip install --quiet --require-hashes --requirement /dev/stdin; } $(UNLESS_OFFLINE)
	@touch $@

$(VENV)/.runtime: $(VENV)/.pip pyproject.toml
	@{ $(NEEDS) | $(INSTALL) --requirement /dev/stdin && $(ITSELF); } $(UNLESS_OFFLINE)
	@touch $@

$(VENV)/.demo: $(VENV)/.pip pyproject.toml
	@{ $(NEEDS) lab | $(INSTALL) --requirement /dev/stdin && $(ITSELF); } $(UNLESS_OFFLINE)
	@touch $(VENV)/.runtime $@

$(VENV)/.installed: $(VENV)/.pip pyproject.toml
	@{ $(NEEDS) calibrate lab mcp otlp plots top | $(INSTALL) --requirement /dev/stdin && $(ITSELF); } $(UNLESS_OFFLINE)
	@touch $(VENV)/.runtime $(VENV)/.demo $@

$(VENV)/.dev: $(VENV)/.pip pyproject.toml
	@{ $(NEEDS) calibrate lab mcp otlp plots top | $(INSTALL) --requirement /dev/stdin --group dev && $(ITSELF); } $(UNLESS_OFFLINE)
	@touch $(VENV)/.runtime $(VENV)/.demo $(VENV)/.installed $@

$(KUBERNETES): $(VENV)/.pip pyproject.toml
	rm -rf $(@D)
	$(INSTALL) --target $(@D) --group kubernetes
	@touch $@

$(VENV)/.dist: $(VENV)/.dev
	$(INSTALL) --group dist
	@touch $@

$(VENV)/.floors: $(VENV)/.dev
	$(INSTALL) --group floors
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(INSTALL) --group docs
	@touch $@

$(GRAFANA) $(OLDER_GRAFANA): %/node_modules/.package-lock.json: %/package-lock.json
	cd $* && npm ci
	@touch $@

$(TOOL)/prometheus $(TOOL)/alertmanager $(TOOL)/docker-compose $(TOOL)/victoria-metrics: deploy/tools/fetch.py
	$(PYTHON) deploy/tools/fetch.py $(@F) --into $(TOOLS)
	@touch $@
