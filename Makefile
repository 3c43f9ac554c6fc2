# `make demo` and `make test` need nothing but Python, make and a C++ compiler.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help install demo test test-all lint format clean bench bench-sim bench-area bench-groupsum bench-training bench-peers

help:
	@echo "make demo      train Moons, verify its RTL, place and route it (build/moons/report.html)"
	@echo "make test      lint, type check and test"
	@echo "make test-all  the slow tests too"
	@echo "make bench     all benchmarks (an hour); or one of:"
	@echo "  bench-sim       speed and memory of the simulator (minutes, most of them gcc for its rival)"
	@echo "  bench-area      LUTs of whole designs against a case statement a gate"
	@echo "  bench-groupsum  LUTs and frequency of sums of trits"
	@echo "  bench-training  time of a training step, and accuracies"
	@echo "  bench-peers     other projects, installed with PyTorch in build/peers (gigabytes)"
	@echo "make format    format the code"
	@echo "make clean     remove $(VENV) and build/"

install: $(STAMP)

$(STAMP): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "TriLUT needs Python 3.11 or newer, and $(PYTHON) is `$(PYTHON) --version`; set PYTHON"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' || \
	  { echo "Python's venv module is missing; install it, for example with 'apt install python3-venv'"; exit 1; }
	@command -v c++ > /dev/null || command -v g++ > /dev/null || command -v clang++ > /dev/null || \
	  { echo "Cannot find a C++ compiler, which the Verilog simulator needs; install it, for example with 'apt install g++'"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@echo "Preparing the synthesis tools (once, about a minute)"
	$(BIN)/python -m trilut.synth.warm_up
	@touch $@

demo: $(STAMP)
	$(BIN)/trilut flow moons -o build/moons

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -m "not slow"

test-all: lint
	$(BIN)/pytest

bench: bench-sim bench-area bench-groupsum bench-training

bench-area: $(STAMP)
	@mkdir -p build
	$(BIN)/python benchmarks/area.py --json build/bench-area.json

bench-groupsum: $(STAMP)
	$(BIN)/python benchmarks/groupsum.py

bench-training: $(STAMP)
	$(BIN)/python benchmarks/training.py

bench-sim: $(STAMP)
	@mkdir -p build
	$(BIN)/python benchmarks/simulator.py --plot docs/sim-scaling.svg --json build/bench-sim.json

bench-peers: $(STAMP)
	@mkdir -p build
	$(BIN)/python benchmarks/simulator_peers.py --json build/bench-simulator-peers.json

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build
