"""Drivers of a peripheral: C99 without a library, and Python over memory that is mapped.

Both are made from the registers of the design and need nothing but themselves.
"""

import json
from importlib import resources
from pathlib import Path

from trilut.circuit.interface import InputKind, Port
from trilut.circuit.netlist import Netlist
from trilut.files import write_atomically
from trilut.hdl.design import Design
from trilut.hdl.peripheral.registers import RegisterMap, is_word_a_field, register_name
from trilut.interchange import c_parts
from trilut.interchange.c_source import quantization
from trilut.interchange.c_text import Integers, array

__all__ = ["write_drivers"]


def write_drivers(design: Design) -> tuple[Path, ...]:
    """Write ``TOP_driver.h``, ``TOP_driver.c`` and ``TOP_driver.py`` beside a design."""
    registers = RegisterMap.of(design)
    texts = {
        f"{design.top}_driver.h": _c_header(design),
        f"{design.top}_driver.c": _c_source(design),
        f"{design.top}_driver.py": _python(registers),
    }
    directory = design.path.parent
    for name, text in texts.items():
        write_atomically(directory / name, text)
    return tuple(directory / name for name in texts)


def _filled(text: str, design: Design, **parts: str) -> str:
    for key, part in parts.items():
        text = text.replace(f"@{key}@", part)
    return text.replace("@net@", design.top).replace("@NET@", design.top.upper())


_HEADER = """\
// A driver of the peripheral @net@. It calls no library; accesses are @NET@_READ and @NET@_WRITE,
// which can be defined before this file is included.
#ifndef @NET@_DRIVER_H
#define @NET@_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "@net@_registers.h"

typedef struct {
    volatile uint32_t *base; // where the registers are
} @net@_device;

#ifndef @NET@_READ
#define @NET@_READ(device, offset) ((device)->base[(offset) / 4])
#define @NET@_WRITE(device, offset, word) ((void)((device)->base[(offset) / 4] = (word)))
#endif

#define @NET@_NUM_@INPUTS@ @num_inputs@

// @input_meaning@
typedef @value@ @net@_value;

typedef struct {
@result@
} @net@_result;

// Return 0 if the peripheral is there and has the netlist that this driver was made for.
int @net@_check(@net@_device *device);
@quantize@@set_margin@
// Write a vector and start it; return 0, or -1 if the last one has not been taken yet.
int @net@_start(@net@_device *device, @source@);

// Return 1 if a result waits.
int @net@_done(@net@_device *device);

// Read the oldest result and drop it; return 0, or -1 if there is none.
int @net@_take(@net@_device *device, @net@_result *result);

// Raise the interrupt while a result waits, or not.
void @net@_interrupt(@net@_device *device, int is_enabled);

// Start a vector and wait for its result, with no other on the way.
void @net@_classify(@net@_device *device, @source@, @net@_result *result);

#endif
"""

_SOURCE = """\
#include "@net@_driver.h"

@tables@
int @net@_check(@net@_device *device)
{
    static const uint32_t hash[] = @NET@_HASH_VALUE;
    int is_other = @NET@_READ(device, @NET@_ID) != @NET@_ID_VALUE;
    is_other |= @NET@_READ(device, @NET@_VERSION) != @NET@_VERSION_VALUE;
    for (uint32_t word = 0; word < @NET@_HASH_WORDS; word++)
        is_other |= @NET@_READ(device, @NET@_HASH + 4 * word) != hash[word];
    return is_other;
}
@quantize@@set_margin@
@write@
int @net@_start(@net@_device *device, @source@)
{
    if (@NET@_READ(device, @NET@_STATUS) & @NET@_STATUS_BUSY)
        return -1;
    write_vector(device, @inputs@);
    const uint32_t control = @NET@_READ(device, @NET@_CONTROL);
    @NET@_WRITE(device, @NET@_CONTROL, control | @NET@_CONTROL_START);
    return 0;
}

int @net@_done(@net@_device *device)
{
    return (@NET@_READ(device, @NET@_STATUS) & @NET@_STATUS_DONE) != 0;
}

int @net@_take(@net@_device *device, @net@_result *result)
{
    if (!@net@_done(device))
        return -1;
@take@
    @NET@_WRITE(device, @NET@_NEXT, 1);
    return 0;
}

void @net@_interrupt(@net@_device *device, int is_enabled)
{
    @NET@_WRITE(device, @NET@_CONTROL, is_enabled ? @NET@_CONTROL_INTERRUPT : 0);
}

void @net@_classify(@net@_device *device, @source@, @net@_result *result)
{
    while (@net@_start(device, @inputs@) != 0)
        ;
    while (@net@_take(device, result) != 0)
        ;
}
"""

# Values side by side in words, the first in the lowest bits.
_PACK = """\
typedef struct {
    uint64_t bits;
    uint32_t held, offset;
} packer;

static void put(@net@_device *device, packer *to, uint32_t value, uint32_t width)
{
    to->bits |= (uint64_t)value << to->held;
    to->held += width;
    if (to->held >= 32) {
        @NET@_WRITE(device, to->offset, (uint32_t)to->bits);
        to->bits >>= 32;
        to->held -= 32;
        to->offset += 4;
    }
}

static void end(@net@_device *device, packer *to)
{
    if (to->held > 0)
        @NET@_WRITE(device, to->offset, (uint32_t)to->bits);
}

"""

_WRITE_FEATURES = """\
static void write_vector(@net@_device *device, @source@)
{
    packer values = {0, 0, @NET@_FEATURES};
    for (size_t f = 0; f < @NET@_NUM_FEATURES; f++) {
        const uint32_t mask = UINT32_C(0xFFFFFFFF) >> (32 - feature_bits[f]);
        put(device, &values, (uint32_t)features[f] & mask, feature_bits[f]);
    }
    end(device, &values);
@present@
}
"""

_WRITE_PRESENT = """\
    packer valid = {0, 0, @NET@_PRESENT};
    for (size_t f = 0; f < @NET@_NUM_FEATURES; f++)
        put(device, &valid, present == NULL || present[f] != 0, 1);
    end(device, &valid);"""

# With --no-missing all features are always there.
_IGNORE_PRESENT = "    (void)present;"

_WRITE_TRITS = """\
static void write_vector(@net@_device *device, @source@)
{
    packer values = {0, 0, @NET@_IN_TRITS};
    for (size_t i = 0; i < @NET@_NUM_INPUTS; i++)
        put(device, &values, (uint32_t)(trits[i] > 0) << 1 | (trits[i] < 0), 2);
    end(device, &values);
}
"""

_SET_MARGIN = """
void @net@_set_margin(@net@_device *device, uint32_t margin)
{
    @NET@_WRITE(device, @NET@_ABSTAIN_MARGIN, margin);
}
"""

# What a result is in C: its name, its type, and whether it is a list.
_RESULTS = {
    "out_class": ("chosen", "int32_t"),
    "out_margin": ("margin", "int32_t"),
    "out_unknown": ("unknown", "uint8_t"),
    "out_certain": ("certain", "uint8_t"),
    "out_scores": ("scores", "int32_t"),
    "out_set": ("members", "uint8_t"),
    "out_trits": ("trits", "int8_t"),
}


def _inputs(design: Design) -> dict[str, str]:
    """Return how C declares and passes on a vector."""
    if design.interface.input_kind is InputKind.TRITS:
        return {"source": "const @net@_value *trits", "inputs": "trits", "INPUTS": "INPUTS"}
    return {
        "source": "const @net@_value *features, const uint8_t *present",
        "inputs": "features, present",
        "INPUTS": "FEATURES",
    }


def _values(netlist: Netlist, kind: InputKind) -> Integers:
    if kind is InputKind.TRITS or netlist.encoder is None:
        return Integers(-1, 1)
    features = netlist.encoder.features
    return Integers(min(f.minimum for f in features), max(f.maximum for f in features))


def _c_header(design: Design) -> str:
    netlist, interface = design.stateless, design.interface
    is_features = interface.input_kind is InputKind.FEATURES
    lines = []
    for port in interface.outputs:
        name, kind = _RESULTS[port.name]
        size = f"[{len(port.fields)}]" if len(port.fields) > 1 else ""
        lines.append(f"    {kind} {name}{size}; // {port.meaning}")
    meaning = "A trit: -1, 0 or 1."
    if is_features:
        meaning = "A feature: an integer of its own bits; a present of 0 says that it is missing."
    margin = "void @net@_set_margin(@net@_device *device, uint32_t margin);"
    return _filled(
        _HEADER,
        design,
        num_inputs=str(len(interface.inputs[0].fields)),
        input_meaning=meaning,
        value=_values(netlist, interface.input_kind).type,
        result="\n".join(lines),
        quantize="\n" + c_parts.PROTOTYPE_QUANTIZE.rstrip() + "\n" if is_features else "",
        set_margin=f"\n// Set the abstention margin.\n{margin}\n" if interface.margin else "",
        **_inputs(design),
    )


def _c_source(design: Design) -> str:
    interface, encoder = design.interface, design.stateless.encoder
    tables, quantize, write = "", "", _WRITE_TRITS
    if interface.input_kind is InputKind.FEATURES:
        assert encoder is not None
        bits = [feature.bits for feature in encoder.features]
        tables = array("uint8_t", "feature_bits", bits) + "\n"
        quantize = "\n" + quantization(encoder)
        present = _WRITE_PRESENT if interface.has_port("in_present") else _IGNORE_PRESENT
        write = _WRITE_FEATURES.replace("@present@", present)
    return _filled(
        _SOURCE,
        design,
        tables=tables,
        quantize=quantize,
        set_margin=_SET_MARGIN if interface.margin is not None else "",
        write=_PACK + write,
        take="\n".join(map(_taken, interface.outputs)),
        **_inputs(design),
    )


def _taken(port: Port) -> str:
    """Return C that reads the registers of one port of a result."""
    name, kind = _RESULTS[port.name]
    register = f"@NET@_{register_name(port)}"
    count = len(port.fields)
    if count == 1 and port.name != "out_trits":
        return f"    result->{name} = ({kind})@NET@_READ(device, {register});"
    loop = f"    for (uint32_t i = 0; i < {count}; i++)"
    place = f"result->{name}[i]" if count > 1 else f"(&result->{name})[i]"
    if is_word_a_field(port):
        return f"{loop}\n        {place} = (int32_t)@NET@_READ(device, {register} + 4 * i);"
    if port.name == "out_trits":
        return (
            f"{loop} {{\n"
            f"        const uint32_t word = @NET@_READ(device, {register} + i / 16 * 4);\n"
            "        const uint32_t code = word >> i % 16 * 2;\n"
            f"        {place} = (int8_t)((int)(code >> 1 & 1) - (int)(code & 1));\n    }}"
        )
    read = f"@NET@_READ(device, {register} + i / 32 * 4) >> i % 32 & 1"
    return f"{loop}\n        {place} = (uint8_t)({read});"


def _python(registers: RegisterMap) -> str:
    """Return the driver in Python: its own facts, then code that is the same for all."""
    design = registers.design
    encoder = design.stateless.encoder
    least, most = encoder.seen_limits() if encoder is not None else ((), ())
    is_features = design.interface.input_kind is InputKind.FEATURES
    facts = {
        "top": design.top,
        "size": 1 << registers.address_bits,
        "hash": registers.hash_words,
        "offsets": {each.name: each.offset for each in registers.registers},
        "results": {
            port.name.removeprefix("out_"): {
                "register": register_name(port),
                "count": len(port.fields),
                "kind": "word" if is_word_a_field(port) else str(port.fields[0].kind),
                "is_list": len(port.fields) > 1 or port.name in ("out_trits", "out_set"),
            }
            for port in design.interface.outputs
        },
        "features": [
            {
                "bits": feature.bits,
                "minimum": feature.minimum,
                "maximum": feature.maximum,
                "scale": feature.scale,
                "offset": feature.offset,
                "seen": None if feature.seen is None else [float(low), float(high)],
            }
            for feature, low, high in zip(encoder.features, least, most, strict=True)
        ]
        if encoder is not None and is_features
        else None,
        "num_inputs": len(design.interface.inputs[0].fields),
    }
    text = resources.files("trilut.interchange").joinpath("peripheral.py.in").read_text()
    # JSON of these facts is Python but for three words, and no name from a file is among them.
    return text.replace("@FACTS@", repr(json.dumps(facts)))
