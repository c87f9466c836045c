# Everything is installed into .venv; nothing else on the machine is touched. Python 3.11 or newer and make are needed.
PYTHON ?= python3
BIN := .venv/bin
RUN_OPTIONS ?= --seed 1
CAMPAIGN := reports/campaign
PYTEST_OPTIONS ?=
PYTEST := $(BIN)/python -m pytest -q $(PYTEST_OPTIONS)
# One more process than cores: many tests wait for others that they start.
IN_PARALLEL := -n $(shell $(PYTHON) -c "import os; print(os.cpu_count() + 1)") --dist loadgroup
NORMAL := not slow and not browser and not zookeeper and not kits
# The tests start some hundred processes: with compiled modules on disk each starts in half the time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test slowest test-slow test-browser test-zookeeper test-kits lint gate docs site bench clean

# Check Zab, then plant a bug and see it found, minimised and explained (which is exit code 1, and expected here); then
# a small campaign on Spark, on this machine.
run: .venv/installed
	$(BIN)/zabcheck run --runs 1500 $(RUN_OPTIONS)
	@printf '\nNow with a planted bug:\n\n'
	@$(BIN)/zabcheck run --mutant commit-on-own-ack $(RUN_OPTIONS); code=$$?; \
	  if [ $$code -ne 1 ]; then echo "the planted bug was not found (exit code $$code)"; exit 1; fi
	@printf '\nAnd a campaign on Spark:\n\n'
	@rm -rf $(CAMPAIGN)
	$(BIN)/zabcheck campaign --runs 2000 $(RUN_OPTIONS) --out $(CAMPAIGN)

test: .venv/installed-for-tests
	$(PYTEST) $(IN_PARALLEL) -m "$(NORMAL)"

# The same, and then how long the ten slowest took.
slowest: .venv/installed-for-tests
	$(PYTEST) $(IN_PARALLEL) -m "$(NORMAL)" --durations=10

test-slow: .venv/installed-for-tests
	$(PYTEST) $(IN_PARALLEL) -m "slow or hypothesis" --hypothesis-profile=thorough

# Chromium has to be there, or ZABCHECK_BROWSER name a browser.
test-browser: .venv/installed-for-browser-tests
	$(PYTEST) $(IN_PARALLEL) -m browser tests/browser

# Debian's packages `zookeeper` and `libzookeeper-java` have to be there. Real servers mostly wait, one ensemble
# after the other, and servers are simulated meanwhile.
test-zookeeper: .venv/installed-for-tests .venv/zookeeper-3.6.3
	$(PYTEST) -n 2 --dist loadgroup -m zookeeper tests/cli tests/zookeeper

# Compilers of Go, Java, C++ and Rust and node.js have to be there, as in Debian's golang-go, default-jdk-headless, g++,
# rustc and nodejs.
test-kits: .venv/installed-for-tests
	$(MAKE) -C kits
	$(PYTEST) $(IN_PARALLEL) -m kits tests/kits tests/cli/zookeeper tests/protocols/external tests/zookeeper/simulated

# The types of the scripts that say `// @ts-check` are checked.
JAVASCRIPT := zabcheck kits
lint: .venv/installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/deno lint --no-config $(JAVASCRIPT)
	DENO_DIR=.cache/deno $(BIN)/deno check --no-config $(JAVASCRIPT)

gate: .venv/installed
	$(BIN)/zabcheck gate

# Write anew what the documentation shows, then build it as a site in build/site. Pages that take longer are named:
# `.venv/bin/python -m docs.generators campaigns evaluation`.
docs: .venv/installed-for-docs
	$(BIN)/python -m docs.generators
	$(MAKE) site

# The pages as they are: that each is as it would be written now is tested by test-slow.
site: .venv/installed-for-docs
	$(BIN)/python -m docs.generators.site

bench: .venv/installed-for-tests
	$(BIN)/python -m benchmarks

.venv/installed: pyproject.toml constraints.txt
	@echo "Installing zabcheck with Spark, a Java and a ZooKeeper client into .venv: 1.3 GB, some two minutes without a word"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[spark,zookeeper]'
	touch $@

.venv/installed-for-tests: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test,lint]'
	touch $@

.venv/installed-for-browser-tests: .venv/installed-for-tests
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[browser]'
	touch $@

# An older version than Debian and the PySpark of here bring: that of an older PySpark.
OLD_SPARK := pyspark-3.5.3
.venv/zookeeper-3.6.3: | .venv/installed-for-tests
	rm -rf $@.new
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest $@.new \
	  $(subst -,==,$(OLD_SPARK))
	tar --extract --gzip --file $@.new/$(OLD_SPARK).tar.gz --directory $@.new --strip-components 3 --wildcards \
	  '*/deps/jars/zookeeper-*.jar'
	rm $@.new/$(OLD_SPARK).tar.gz
	mv $@.new $@

.venv/installed-for-docs: .venv/installed-for-tests
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	touch $@

clean:
	rm -rf .venv build dist .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
