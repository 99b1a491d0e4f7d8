# The verbs of docmill. All paths are relative, so that the folder may have any name; all work is done in .venv.

PYTHON ?= python3
IN := .venv/bin/python
INSTALLED := .venv/.installed
unexport PYTHONDONTWRITEBYTECODE  # tests start many processes, and each would compile all sources

.PHONY: verbs install demo test test-fast soak soak-store lint docs bench bench-retrieval resolve clean
verbs:
	@echo 'make install make .venv, and install everything into it; the other verbs do so first'
	@echo 'make demo    install, ingest tests/corpus through Prefect, search, query, edit a document, ingest again'
	@echo 'make test    install, run every test but those of `make soak`'
	@echo 'make test-fast   install, run the tests that start no server, no browser and no process, and embed nothing'
	@echo 'make soak    install, run the long tests, and the property tests with 25 times as many examples (SOAK=25)'
	@echo 'make soak-store   install, attack stores with 200 kills and with faults, print what was lost'
	@echo 'make lint    install, check types and style'
	@echo 'make docs    install, write the documentation site into site/, with no broken link; open site/index.html'
	@echo 'make bench   install, print the measured numbers beside the last release, fail if one that no load changes is 15 % worse'
	@echo 'make bench-retrieval DATA=folder PAGES=folder   print what searches find on judged sets: of the project, of these'
	@echo 'make resolve install, print which packages can newly reach other hosts, and whether docmill can be installed beside others'
	@echo 'make clean   remove everything that the others made'

install: $(INSTALLED)

demo: $(INSTALLED)
	@$(IN) tests/demo.py

test: $(INSTALLED)
	@$(IN) -m pytest -m '$(or $(MARKS),not soak)' -n logical --maxprocesses 4 --dist worksteal

test-fast: $(INSTALLED)
	@$(IN) -m pytest -m fast -n logical --maxprocesses 4 --dist worksteal

soak: $(INSTALLED)
	@SOAK=$(or $(SOAK),25) $(IN) -m pytest -m 'soak or hypothesis' -o faulthandler_timeout=3600 -n logical --maxprocesses 4 --dist worksteal

soak-store: $(INSTALLED)
	@$(IN) -m tests.soak_store --kills $(or $(KILLS),200) --rounds $(or $(ROUNDS),10)

lint: $(INSTALLED)
	@$(IN) -m ruff check .
	@$(IN) -m ruff format --check .
	@$(IN) -m mypy

docs: $(INSTALLED)
	@NO_MKDOCS_2_WARNING=1 $(IN) -m mkdocs build --strict
	@echo 'Open site/index.html.'

bench: export BENCH_FIGURES := .venv/.figures.jsonl
bench: $(INSTALLED)
	@rm -f '$(BENCH_FIGURES)'
	@$(IN) -m tests.bench.installing.sizes
	@$(IN) -m tests.bench.start
	@$(IN) -m tests.bench.storing.keywords
	@$(IN) -m tests.bench.storing.vectors
	@$(IN) -m tests.bench.storing.store
	@$(IN) -m tests.bench.storing.sql
	@$(IN) -m tests.bench.storing.memory
	@$(IN) -m tests.bench.storing.encode
	@$(IN) -m tests.bench.finding.split
	@$(IN) -m tests.bench.parsing.pool
	@$(IN) -m tests.bench.parsing.markup
	@$(if $(LABELLED),$(IN) -m tests.bench.parsing.detect --data '$(LABELLED)')
	@$(if $(LABELLED),$(IN) -m tests.bench.parsing.routes --labelled '$(LABELLED)')
	@$(IN) -m tests.bench.storing.incremental $(if $(DATA),--data '$(DATA)')
	@$(IN) -m tests.bench.storing.watch --chunks 10000 100000
	@$(IN) -m tests.bench.storing.ingest $(if $(DATA),--data '$(DATA)')
	@$(IN) -m tests.bench.serving.clients
	@$(IN) -m tests.bench.serving.cache
	@$(IN) -m tests.bench.storing.targets
	@$(IN) -m tests.bench.finding.nights
	@$(IN) -m tests.bench.storing.records $(if $(DATA),--data '$(DATA)' --share .04)
	@$(IN) -m tests.bench.released '$(BENCH_FIGURES)' $(if $(RECORD),--record)

bench-retrieval: $(INSTALLED)
	@$(IN) -m tests.bench.finding.retrieval $(if $(DATA),--data '$(DATA)') $(if $(PAGES),--pages '$(PAGES)') \
		$(if $(CACHE),--cache '$(CACHE)') $(if $(STORES),--stores '$(STORES)') $(if $(HALF),--half $(HALF)) \
		$(foreach one,$(ONLY),--only $(one)) $(if $(SAVE),--save '$(SAVE)') $(if $(AGAINST),--against '$(AGAINST)')

resolve: $(INSTALLED)
	@$(IN) -m tests.bench.installing.network
	@$(IN) -m tests.bench.installing.resolve $(BESIDE)

clean:
	rm -rf .venv .demo site .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist docmill.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements.lock pyproject.toml
	@echo 'Installing into .venv; the first time takes minutes.'
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "docmill needs Python 3.11 or newer")'
	@$(PYTHON) -m venv .venv
	@$(IN) -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	@$(IN) -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@
