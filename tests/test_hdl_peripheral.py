"""Peripherals, Verilated: random accesses beside a model of the registers, and both drivers."""

import ctypes
import dataclasses
import importlib.util
import random
import re
import subprocess
from collections import deque
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from circuits import monotone_netlist, random_netlist
from commandline import fails
from compiled import ALONE, STRICT

from trilut import load, save, sim
from trilut.circuit.encoder import FeatureVectors
from trilut.cli import main
from trilut.errors import NetlistError
from trilut.hdl import HardwareOptions, write_verilog
from trilut.hdl.peripheral.registers import MAGIC, Access, RegisterMap
from trilut.hdl.peripheral.writing import peripheral_top, write_peripheral
from trilut.interchange.driver import write_drivers
from trilut.sim.bench.simulator import find_simulator

BUSES = ["axi-lite", "wishbone"]
HARNESS = Path(__file__).with_name("bus.cpp")
ALL = HardwareOptions(
    sums="generic", scores=True, certain=True, prediction_set=True, margin_port=True, pipeline=1
)


def network():
    """Return a network whose decisions have all that a decision can have."""
    netlist = monotone_netlist(
        7, num_inputs=10, num_gates=30, num_outputs=18, num_classes=3, with_encoder=True
    )
    head = dataclasses.replace(netlist.head, set_margin=2)
    return dataclasses.replace(netlist, head=head)


@dataclasses.dataclass
class Built:
    """A peripheral that can be called."""

    design: object
    registers: RegisterMap
    library: ctypes.CDLL

    def read(self, offset):
        value = ctypes.c_uint32()
        answer = self.library.bus_read(offset, ctypes.byref(value))
        return answer, value.value

    def write(self, offset, word, strobes=15):
        return self.library.bus_write(offset, word, strobes)


def build(netlist, bus, directory, options=ALL):
    design = write_verilog(netlist, directory, options)
    verilog, *_ = write_peripheral(design, bus)
    whole = directory / "whole.v"
    whole.write_text(verilog.read_text() + design.path.read_text())
    work = directory / "work"
    work.mkdir()
    macro = "#define BUS_AXI\n" if bus == "axi-lite" else ""
    (work / "bus.cpp").write_text(macro + HARNESS.read_text())
    simulator = find_simulator("verilator")
    simulator.translate(whole, peripheral_top(design, bus), work, timeout=600)
    path = simulator.build_library(work, "bus.cpp", timeout=600)
    library = ctypes.CDLL(str(path.absolute()))
    library.bus_cycles.restype = library.bus_violations.restype = ctypes.c_long
    return Built(design, RegisterMap.of(design), library)


@pytest.fixture(scope="module", params=BUSES)
def built(request, tmp_path_factory):
    return build(network(), request.param, tmp_path_factory.mktemp("bus"))


def vectors(netlist, count, seed):
    rng = np.random.default_rng(seed)
    features = netlist.encoder.features
    low = [feature.minimum for feature in features]
    high = [feature.maximum for feature in features]
    values = rng.integers(low, high, (count, len(features)), endpoint=True)
    return FeatureVectors(values, rng.random(values.shape) < 0.8)


def packed(netlist, vector):
    """Return the words of the features and of what is present."""
    bits, held = 0, 0
    for value, feature in zip(vector.values[0].tolist(), netlist.encoder.features, strict=True):
        bits |= (value & (1 << feature.bits) - 1) << held
        held += feature.bits
    present = sum(int(there) << number for number, there in enumerate(vector.valid[0]))
    words = [bits >> at & 0xFFFFFFFF for at in range(0, held, 32)]
    return words, [present >> at & 0xFFFFFFFF for at in range(0, len(vector.valid[0]), 32)]


def answers(netlist, inputs, margin):
    """Return what the reference says, by the names of registers."""
    head = dataclasses.replace(netlist.head, abstain_margin=max(1, margin))
    decided = sim.classify(
        dataclasses.replace(netlist, head=head), inputs, certain=True, engine="reference"
    )
    assert margin > 0
    members = sum(decided.members[:, c].astype(int) << c for c in range(len(head.classes)))
    return {
        "CLASS": decided.chosen, "MARGIN": decided.margin, "UNKNOWN": decided.unknown,
        "CERTAIN": decided.certain, "SET": members,
        **{f"SCORES{c}": decided.scores[:, c] % (1 << 32) for c in range(len(head.classes))},
    }  # fmt: skip


class Model:
    """What the registers must hold, as far as software can know it, beside the peripheral."""

    def __init__(self, built, seed):
        self.built = built
        self.random = random.Random(seed)
        self.netlist = built.design.netlist
        self.inputs = vectors(self.netlist, 64, seed)
        self.words = [packed(self.netlist, self.inputs[i : i + 1]) for i in range(64)]
        margin = self.netlist.head.abstain_margin
        self.expected = answers(self.netlist, self.inputs, margin)
        self.mapped = {
            register.offset + 4 * word: register
            for register in built.registers.registers
            for word in range(register.words)
        }
        self.counts = dict.fromkeys(("transactions", "results", "resets", "illegal"), 0)
        built.library.bus_make(1)
        self.forget()

    def forget(self):
        self.started = self.finished = self.refused = 0
        self.interrupt = 0
        self.loaded = None
        self.waiting = deque()

    def offset(self, name):
        return self.built.registers[name].offset

    def value(self, name, word=0):
        self.counts["transactions"] += 1
        answer, value = self.built.read(self.offset(name) + 4 * word)
        assert answer == 0, name
        return value

    def put(self, name, value, word=0):
        self.counts["transactions"] += 1
        return self.built.write(self.offset(name) + 4 * word, value)

    def step(self):
        actions = [self.load, self.start, self.take, self.look, self.illegal, self.illegal]
        self.random.choice(actions)()
        if self.random.random() < 0.002:
            self.counts["resets"] += 1
            self.built.library.bus_reset()
            self.forget()

    def load(self):
        number = self.random.randrange(64)
        answers = [
            self.put(name, word, place)
            for name, words in zip(("FEATURES", "PRESENT"), self.words[number], strict=True)
            for place, word in enumerate(words)
        ]
        # While the last vector has not been taken, inputs are refused.
        self.refused += sum(answer == 2 for answer in answers)
        assert set(answers) <= {0, 2}
        if len(self.waiting) < 2:
            assert self.value("STATUS") & 1 == 0 or 2 not in answers
        self.loaded = number if set(answers) == {0} else None

    def start(self):
        if self.loaded is None:
            return
        self.interrupt = self.random.randrange(2)
        assert self.put("CONTROL", 1 | self.interrupt << 1) == 0
        started = self.value("STARTED")
        if started == self.started:
            self.refused += 1
        else:
            assert started == self.started + 1
            self.started = started
            self.waiting.append(self.loaded)

    def take(self):
        status = self.value("STATUS")
        assert not status & 2 or self.waiting
        assert (status >> 8 & 15 > 0) == bool(status & 2)
        if status & 2:
            number = self.waiting.popleft()
            for name, values in self.expected.items():
                register, word = re.fullmatch(r"([A-Z]+)(\d*)", name).groups()
                assert self.value(register, int(word or 0)) == values[number], name
            assert self.built.library.bus_interrupt() == self.interrupt
            self.counts["results"] += 1
        else:
            self.built.library.bus_idle(20)
            if self.value("STATUS") & 2:
                return
            assert not self.waiting
        assert self.put("NEXT", self.random.getrandbits(32)) == 0
        self.finished += bool(status & 2)
        self.refused += not status & 2

    def look(self):
        assert self.value("ID") == MAGIC
        words = [self.value("HASH", word) for word in range(8)]
        assert words == self.built.registers.hash_words
        assert self.value("CONTROL") == self.interrupt << 1
        assert self.value("FINISHED") == self.finished
        assert self.value("REFUSED") == self.refused

    def illegal(self):
        """Do what is refused: other offsets, parts of words, and what a register does not allow."""
        pick = self.random.random
        size = 1 << self.built.registers.address_bits
        offset = self.random.randrange(size)
        register = self.mapped.get(offset)
        strobes = self.random.randrange(15) if pick() < 0.5 else 15
        self.counts["transactions"] += 1
        if pick() < 0.5:
            if register is not None and register.access is not Access.WRITE:
                return
            assert self.built.read(offset) == (2, 0)
        else:
            if register is not None and register.access is not Access.READ and strobes == 15:
                return
            assert self.built.write(offset, self.random.getrandbits(32), strobes) == 2
        self.refused += 1
        self.counts["illegal"] += 1


@pytest.mark.sim
def test_random_accesses_with_stalls_resets_and_illegal_ones(built):
    model = Model(built, 0)
    while model.counts["transactions"] < 12_000:
        model.step()
    assert built.library.bus_violations() == 0
    assert model.counts["results"] > 200
    assert model.counts["resets"] > 2
    assert model.counts["illegal"] > 500


@pytest.mark.sim
@pytest.mark.parametrize("built", ["axi-lite"], indirect=True)
def test_reads_and_writes_at_once(built):
    built.library.bus_make(1)
    values = random.Random(1)
    answer, other, value = ctypes.c_int(), ctypes.c_int(), ctypes.c_uint32()
    offsets = {name: built.registers[name].offset for name in ("ID", "ABSTAIN_MARGIN", "VERSION")}
    for _ in range(300):
        margin = values.randrange(1, 8)
        built.library.bus_access(
            1, offsets["ABSTAIN_MARGIN"], margin, 15, 1, offsets["ID"],
            ctypes.byref(answer), ctypes.byref(value), ctypes.byref(other),
        )  # fmt: skip
        assert (answer.value, other.value, value.value) == (0, 0, MAGIC)
        assert built.read(offsets["ABSTAIN_MARGIN"]) == (0, margin)
    assert built.library.bus_violations() == 0


@pytest.mark.sim
def test_results_wait_and_none_is_lost(built):
    built.library.bus_make(0)
    model = Model(built, 3)
    numbers = []
    # Until the queue, the pipeline and the registers of inputs are full.
    while len(numbers) < 60:
        model.load()
        if model.loaded is None:
            break
        numbers.append(model.loaded)
        model.start()
    assert 5 <= len(numbers) < 60
    assert model.value("STATUS") >> 8 & 15 >= 4
    while model.waiting:
        model.take()
    assert model.counts["results"] == len(numbers)
    assert model.finished == model.started == len(numbers)


def load_python(path):
    spec = importlib.util.spec_from_file_location("driver", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Bus:
    def __init__(self, built):
        self._built = built

    def read(self, offset):
        answer, value = self._built.read(offset)
        assert answer == 0
        return value

    def write(self, offset, word):
        assert self._built.write(offset, word) == 0


@pytest.mark.sim
def test_driver_in_python(built):
    *_, path = write_drivers(built.design)
    built.library.bus_make(1)
    driver = load_python(path)
    peripheral = driver.Peripheral(Bus(built))
    assert peripheral.check()
    netlist = built.design.netlist
    inputs = vectors(netlist, 40, 5)
    peripheral.set_margin(3)
    expected = answers(netlist, inputs, 3)
    for number in range(40):
        result = peripheral.classify(inputs.values[number].tolist(), inputs.valid[number].tolist())
        assert result["class"] == expected["CLASS"][number]
        assert result["margin"] == expected["MARGIN"][number]
        assert result["unknown"] == expected["UNKNOWN"][number]
        assert result["certain"] == expected["CERTAIN"][number]
        members = sum(bit << c for c, bit in enumerate(result["set"]))
        assert members == expected["SET"][number]
        scores = [expected[f"SCORES{c}"][number] for c in range(3)]
        assert [score % (1 << 32) for score in result["scores"]] == scores
    values = np.random.default_rng(0).normal(size=(20, len(netlist.encoder.features))) * 50
    values[0] = np.nan
    quantized = netlist.encoder.quantize(values)
    for number, row in enumerate(values.tolist()):
        integers, present = peripheral.quantize(row)
        assert present == quantized.valid[number].tolist()
        assert integers == quantized.values[number].tolist()
    peripheral.interrupt(True)
    assert peripheral.start(inputs.values[0].tolist())
    built.library.bus_idle(30)
    assert built.library.bus_interrupt() == 1
    driver.FACTS["hash"][3] ^= 1
    assert not peripheral.check()
    assert built.library.bus_violations() == 0


@pytest.mark.sim
def test_driver_in_c(built, tmp_path):
    _, source, _ = write_drivers(built.design)
    built.library.bus_make(1)
    (tmp_path / "accesses.h").write_text(
        "#include <stdint.h>\n"
        "extern uint32_t (*driver_read)(uint32_t address);\n"
        "extern void (*driver_write)(uint32_t address, uint32_t word);\n"
        "#define TRILUT_TOP_READ(device, offset) ((void)(device), driver_read(offset))\n"
        "#define TRILUT_TOP_WRITE(device, offset, word) \\\n"
        "    ((void)(device), driver_write(offset, word))\n"
    )
    library = tmp_path / "driver.so"
    pointers = tmp_path / "pointers.c"
    pointers.write_text(
        "uint32_t (*driver_read)(uint32_t);\nvoid (*driver_write)(uint32_t, uint32_t);\n"
    )
    options = ["-include", tmp_path / "accesses.h", "-shared", "-fPIC", "-o", library]
    subprocess.run(["cc", *STRICT, *ALONE, *options, source, pointers], check=True)
    driver = ctypes.CDLL(str(library))
    for name in ("driver_read", "driver_write"):
        function = ctypes.cast(getattr(built.library, name), ctypes.c_void_p)
        ctypes.c_void_p.in_dll(driver, name).value = function.value
    assert driver.trilut_top_check(None) == 0
    netlist = built.design.netlist
    inputs = vectors(netlist, 40, 6)
    driver.trilut_top_set_margin(None, 2)
    expected = answers(netlist, inputs, 2)
    fields = [("chosen", "i4"), ("margin", "i4"), ("unknown", "u1"), ("scores", "i4", (3,))]
    fields += [("certain", "u1"), ("members", "u1", (3,))]
    kind = re.search(r"typedef (\w+)_t trilut_top_value", source.with_suffix(".h").read_text())[1]
    for number in range(40):
        result = np.zeros(1, dtype=np.dtype(fields, align=True))
        values = inputs.values[number].astype(kind)
        present = inputs.valid[number].astype(np.uint8)
        driver.trilut_top_classify(
            None, *(ctypes.c_void_p(array.ctypes.data) for array in (values, present, result))
        )
        found = result[0]
        assert found["chosen"] == expected["CLASS"][number]
        assert found["margin"] == expected["MARGIN"][number]
        assert found["unknown"] == expected["UNKNOWN"][number]
        assert found["certain"] == expected["CERTAIN"][number]
        assert (found["members"] << np.arange(3)).sum() == expected["SET"][number]
        scores = [expected[f"SCORES{c}"][number] for c in range(3)]
        assert (found["scores"].astype(np.int64) % (1 << 32)).tolist() == scores
    assert driver.trilut_top_take(None, None) == -1
    assert built.library.bus_violations() == 0


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("bus", BUSES)
def test_trits_in_and_out(bus, tmp_path):
    netlist = random_netlist(4, num_inputs=21, num_gates=40, num_outputs=19)
    built = build(netlist, bus, tmp_path, HardwareOptions())
    *_, path = write_drivers(built.design)
    built.library.bus_make(1)
    peripheral = load_python(path).Peripheral(Bus(built))
    trits = np.random.default_rng(0).integers(-1, 2, (30, 21))
    found = [peripheral.classify(row)["trits"] for row in trits.tolist()]
    assert np.array_equal(found, netlist.evaluate(trits))


@pytest.fixture(scope="module")
def design(tmp_path_factory):
    return write_verilog(network(), tmp_path_factory.mktemp("design"), ALL)


def test_offsets_do_not_overlap(design):
    registers = RegisterMap.of(design).registers
    ends = [register.offset + 4 * register.words for register in registers]
    assert all(end <= after.offset for end, after in zip(ends, registers[1:], strict=False))
    assert {"CERTAIN", "SET", "SCORES", "ABSTAIN_MARGIN"} < {each.name for each in registers}


def test_documents_say_the_same(design, tmp_path):
    _, markdown, header, svd = write_peripheral(design, "wishbone")
    registers = RegisterMap.of(design)
    text, macros = markdown.read_text(), header.read_text()
    device = ElementTree.parse(svd).getroot()
    found = {}
    for each in device.iter("register"):
        found[each.findtext("name").removesuffix("[%s]")] = each
    for register in registers.registers:
        assert f"| 0x{register.offset:03X} | `{register.name}` | {register.words} |" in text
        assert f"#define TRILUT_TOP_{register.name} 0x{register.offset:03X}u\n" in macros
        entry = found[register.name]
        assert int(entry.findtext("addressOffset"), 16) == register.offset
        assert entry.findtext("access") == register.access
        assert len(entry.findall("fields/field")) == len(register.fields)


def test_the_file_of_the_design_stays_as_it_is(design):
    before = design.sha256
    verilog, *_ = write_peripheral(design, "axi-lite")
    assert design.sha256 == before
    assert f"// sha256:  {before}\n" in verilog.read_text()


def test_drivers_of_a_design_whose_features_are_always_there(tmp_path):
    design = write_verilog(network(), tmp_path, HardwareOptions(presence_bits=False))
    assert not RegisterMap.of(design).has("PRESENT")
    write_peripheral(design, "wishbone")
    _, source, path = write_drivers(design)
    subprocess.run(["cc", *STRICT, *ALONE, "-c", source, "-o", tmp_path / "driver.o"], check=True)
    written = {}

    class Memory:
        read = staticmethod(lambda offset: written.get(offset, 0))
        write = staticmethod(written.__setitem__)

    features = design.netlist.encoder.features
    assert load_python(path).Peripheral(Memory).start([1] * len(features))
    registers = RegisterMap.of(design)
    assert written[registers["CONTROL"].offset] == 1
    assert written[registers["FEATURES"].offset] & 1 == 1


def test_what_cannot_be_a_peripheral(design, tmp_path):
    with pytest.raises(NetlistError, match=r"^Bus is 'isa', expected 'axi-lite' or 'wishbone'$"):
        write_peripheral(design, "isa")
    gates = write_verilog(network(), tmp_path, HardwareOptions(logic_only=True))
    with pytest.raises(
        NetlistError,
        match=r"^A peripheral has plain streams inside; leave out --axi and --logic-only$",
    ):
        write_peripheral(gates, "axi-lite")


def test_command(tmp_path, capsys):
    net = tmp_path / "net.trilut"
    save(network(), net)
    assert load(net).num_gates == 30
    command = ["verilog", str(net), "-o", str(tmp_path / "rtl"), "--bus", "axi-lite", "--json"]
    assert main(command) == 0
    assert "trilut_top_axi_lite.v" in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "rtl").iterdir()}
    assert {"trilut_top.v", "trilut_top.svd", "trilut_top_driver.c"} < names
    assert fails(capsys, "verilog", net, "-o", tmp_path / "x", "--bus=wishbone", "--axi=32") == (
        "A peripheral is Verilog with plain streams inside; "
        "leave out --axi, --logic-only and --format"
    )
    assert not (tmp_path / "x").exists()
