# `make check` is what CI runs; PY names the python whose environment holds the dev extra.
PY ?= python

.PHONY: check static test rules format

check: static test rules

static:            ## format, lint, types, import contracts, dependencies
	PY="$(PY)" .ci/static

test:              ## the whole suite; also writes build/rules.json
	$(PY) -m pytest

rules:             ## each rule of docs/states.md with the tests that held it in the last `make test`
	$(PY) -m tests.rules

format:            ## rewrite files as `make check` wants them
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .
