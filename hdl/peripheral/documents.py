"""The registers of a peripheral for people, for C and for debuggers."""

from xml.sax.saxutils import escape

from trilut.hdl.peripheral.registers import MAGIC, VERSION, Register, RegisterMap
from trilut.text import quote

__all__ = ["to_header", "to_markdown", "to_svd"]

_NAME_CHARACTERS = 200


def to_markdown(registers: RegisterMap) -> str:
    """Write a table of the registers, and one of the bits of each that has fields."""
    lines = [
        f"# Registers of {registers.design.top}",
        "",
        "Words of 32 bits, at offsets in bytes. All four bytes of a word are written at once.",
        "What a register does not allow, and an access to an offset that is not listed, is",
        "refused: it is an error on the bus, it is counted in `REFUSED`, and it changes nothing.",
        "",
        "| offset | name | words | access | meaning |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| 0x{each.offset:03X} | `{each.name}` | {each.words} | {each.access} | {each.meaning} |"
        for each in registers.registers
    ]
    for register in registers.registers:
        if register.fields:
            lines += ["", f"`{register.name}`:", "", "| bits | name | meaning |", "|---|---|---|"]
            lines += [
                f"| {_bits(field.first, field.width)} | `{field.name}` | {field.meaning} |"
                for field in register.fields
            ]
    lines += [
        "",
        "To classify: while `STATUS.BUSY` is 0, write the inputs, then 1 to `CONTROL.START`.",
        "When `STATUS.DONE` is 1, read the result, then write to `NEXT`. The next vector may be",
        "written and started while results still wait; inputs that stay the same need not be",
        "written again.",
    ]
    return "\n".join([*lines, ""])


def _bits(first: int, width: int) -> str:
    return str(first) if width == 1 else f"{first + width - 1}:{first}"


def to_header(registers: RegisterMap) -> str:
    """Write offsets, sizes, bits and the hash of the netlist as macros of C."""
    prefix = registers.design.top.upper()
    words = ", ".join(f"0x{word:08X}u" for word in registers.hash_words)
    lines = [
        f"// Registers of {registers.design.top}; the file .md beside this one explains them.",
        f"#ifndef {prefix}_REGISTERS_H",
        f"#define {prefix}_REGISTERS_H",
        "",
        f"#define {prefix}_ID_VALUE 0x{MAGIC:08X}u",
        f"#define {prefix}_VERSION_VALUE {VERSION}u",
        f"#define {prefix}_HASH_VALUE {{{words}}}",
    ]
    for register in registers.registers:
        lines.append(f"#define {prefix}_{register.name} 0x{register.offset:03X}u")
        if register.words > 1:
            lines.append(f"#define {prefix}_{register.name}_WORDS {register.words}u")
        for field in register.fields:
            mask = ((1 << field.width) - 1) << field.first
            lines.append(f"#define {prefix}_{register.name}_{field.name} 0x{mask:X}u")
    return "\n".join([*lines, "", "#endif", ""])


def to_svd(registers: RegisterMap) -> str:
    """Write the registers as CMSIS-SVD, which debuggers read; its base address is 0."""
    top = registers.design.top
    size = 1 << registers.address_bits
    title = quote(registers.design.netlist.name, _NAME_CHARACTERS)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<device schemaVersion="1.3">',
        f"  <name>{top}</name>",
        "  <version>1.0</version>",
        f"  <description>{escape(title)}</description>",
        "  <addressUnitBits>8</addressUnitBits>",
        "  <width>32</width>",
        "  <peripherals>",
        "    <peripheral>",
        f"      <name>{top}</name>",
        "      <baseAddress>0x0</baseAddress>",
        f"      <addressBlock><offset>0x0</offset><size>0x{size:X}</size>"
        "<usage>registers</usage></addressBlock>",
        "      <registers>",
        *(line for register in registers.registers for line in _svd_register(register)),
        "      </registers>",
        "    </peripheral>",
        "  </peripherals>",
        "</device>",
    ]
    return "\n".join([*lines, ""])


def _svd_register(register: Register) -> list[str]:
    name, array = register.name, ""
    if register.words > 1:
        name = f"{name}[%s]"
        array = f"<dim>{register.words}</dim><dimIncrement>4</dimIncrement>"
    lines = [
        f"        <register>{array}<name>{name}</name>"
        f"<description>{escape(register.meaning)}</description>"
        f"<addressOffset>0x{register.offset:X}</addressOffset><size>32</size>"
        f"<access>{register.access}</access>"
    ]
    if register.fields:
        lines.append("          <fields>")
        lines += [
            f"            <field><name>{field.name}</name>"
            f"<description>{escape(field.meaning)}</description>"
            f"<bitOffset>{field.first}</bitOffset><bitWidth>{field.width}</bitWidth></field>"
            for field in register.fields
        ]
        lines.append("          </fields>")
    return [*lines, "        </register>"]
