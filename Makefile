# Every task of this repository. `make` alone checks that this machine can run them.
ARGS ?= chat
PY := .venv/bin/python

.DEFAULT_GOAL := check
.PHONY: check run test test-system nightly corpus bench docs golden new lock

check:            ## is Python fit? prints the one line that fixes what is missing
	@sh ci/setup.sh check

run:              ## a chat with the local demonstration model; ARGS='run "..."', MODEL=none, YES=1
	@sh ci/setup.sh run
	@.venv/bin/ferrule $(ARGS) $(if $(YES),--yes) || { code=$$?; echo "ferrule ended with exit code $$code" >&2; exit $$code; }

test:             ## everything that needs only pip
	@sh ci/setup.sh test
	@$(PY) -m ci.check

test-system:      ## suites that name real programs with needs(...)
	@sh ci/setup.sh test
	@$(PY) -m ci.check --system

nightly:          ## the large counts: every program of benches/soak, every property test with many more examples
	@sh ci/setup.sh test
	@$(PY) -m ci.nightly $(if $(SHARE),--share $(SHARE),)

corpus:           ## runs what the command rules allow of the lines that try to get round them; counts effects
	@sh ci/setup.sh test
	@$(PY) -m benches.soak.command_corpus $(if $(SEEDS),--seeds $(SEEDS),)

bench:            ## the comparison table, or BENCH='soak.crash_config --seeds 200': a program of benches/ by name
	@sh ci/setup.sh test
	@$(PY) -m benches.$(if $(BENCH),$(BENCH),table --install)

docs:             ## run every block of the documents
	@sh ci/setup.sh test
	@$(PY) -m pytest -q tests/docs

golden:           ## write tests/golden/ anew, from the code as it is, and count the tests by kind
	@sh ci/setup.sh test
	@$(PY) -m ci.golden
	@$(PY) -m pytest -q --collect-only --kinds=ci/kinds.json >/dev/null
	@echo ci/kinds.json

new:              ## make new KIND=provider NAME=acme: the three files of a new adapter
	@sh ci/setup.sh check >/dev/null
	@$(or $(PYTHON),python3) -m ci.new "$(KIND)" "$(NAME)"

lock:             ## resolve ci/constraints.txt anew
	@sh ci/setup.sh test
	@$(PY) -m ci.lock
