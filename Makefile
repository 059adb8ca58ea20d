# `make check` is what CI runs; PY names the python whose environment holds the dev extra.
PY ?= python

.PHONY: check static test rules simulation mutants partners pictures format

SEEDS ?= 10000

check: static test rules

static:            ## format, lint, types, import contracts, dependencies
	PY="$(PY)" .ci/static

test:              ## the whole suite; also writes build/rules.json
	$(PY) -m pytest

rules:             ## each rule of docs/states.md with the tests that held it in the last `make test`
	$(PY) -m tests.rules

simulation:        ## so many SEEDS of the made-up world, each held to every invariant
	$(PY) -m tests.simulation --seeds $(SEEDS)

mutants:           ## each bug of tests/mutants/ is planted in a copy and found by the simulation
	$(PY) -m tests.mutants

partners:          ## the bot beside an emulated Slack and a mocked model that nobody here wrote; needs Node.js
	$(PY) -m tests.partners

pictures:          ## the cards of docs/cards/ as pictures, where their JSON changed; needs Node.js and Chromium
	$(PY) -m tests.pictures

format:            ## rewrite files as `make check` wants them
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .
