"""A test bench in Verilog alone: vectors from a file, pauses on both sides, results compared."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from trilut.circuit.interface import Port, Vectors, VerilogModule
from trilut.circuit.netlist import Netlist
from trilut.circuit.trit import Bits
from trilut.sim.bench.regression import reference_model

__all__ = ["plain_testbench"]


def plain_testbench(
    netlist: Netlist, design: VerilogModule, vectors: Mapping[str, Vectors], *, seed: int = 0
) -> dict[str, str]:
    """Return a bench as contents by file name: ``TOP_bench.sv`` and ``TOP_vectors.hex``.

    Every simulator with events can run it. It prints one line, and fails if a result is wrong.

    Parameters
    ----------
    netlist : Netlist
        What the design must compute.
    design : VerilogModule
        The design, with plain streams at both ends and no port of the margin.
    vectors : mapping
        Vectors by origin, as :func:`trilut.sim.bench.stimulus` makes them.
    seed : int
        Of the values of missing features.
    """
    interface = design.interface
    model = reference_model(netlist, list(vectors.values()), seed, interface)
    inputs = interface.pack_vectors(model.vectors)
    results = interface.pack_results(model.results)
    # The first port in the lowest bits, results below vectors.
    lines = _hexadecimal([*results.values(), *inputs.values()])
    parts = {
        "top": design.top,
        "count": str(len(lines)),
        "input_bits": str(sum(port.width for port in interface.inputs)),
        "output_bits": str(sum(port.width for port in interface.outputs)),
        "wires": ",\n".join(
            [*_wires(interface.inputs, "inputs"), *_wires(interface.outputs, "outputs")]
        ),
    }
    bench = _BENCH
    for key, part in parts.items():
        bench = bench.replace(f"@{key}@", part)
    return {f"{design.top}_bench.sv": bench, f"{design.top}_vectors.hex": "\n".join(lines) + "\n"}


def _wires(ports: Sequence[Port], vector: str) -> Iterator[str]:
    first = 0
    for port in ports:
        yield f"    .{port.name}({vector}[{first + port.width - 1}:{first}])"
        first += port.width


def _hexadecimal(columns: Sequence[Bits]) -> list[str]:
    bits = np.concatenate(columns, axis=1)
    padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    return [row[::-1].tobytes().hex() for row in np.packbits(padded, axis=1, bitorder="little")]


_BENCH = """\
// Sends the vectors of @top@_vectors.hex to @top@ with pauses on both sides, and compares the
// results. A line has the outputs in its lowest bits and the inputs above them.
`timescale 1ns / 1ps
module @top@_bench;
  localparam COUNT = @count@;
  localparam INPUT_BITS = @input_bits@;
  localparam OUTPUT_BITS = @output_bits@;

  reg [INPUT_BITS + OUTPUT_BITS - 1:0] vectors [0:COUNT - 1];
  reg [INPUT_BITS - 1:0] inputs = 0;
  wire [OUTPUT_BITS - 1:0] outputs;
  reg clk = 0, rst = 1, in_valid = 0, out_ready = 0;
  wire in_ready, out_valid;
  integer sent = 0, offered = 0, received = 0, errors = 0, cycles = 0;

  @top@ dut (
    .clk(clk),
    .rst(rst),
    .in_valid(in_valid),
    .in_ready(in_ready),
    .out_valid(out_valid),
    .out_ready(out_ready),
@wires@
  );

  initial $readmemh("@top@_vectors.hex", vectors);
  always #5 clk = ~clk;

  // What was offered stays until it is taken.
  always @(negedge clk) begin
    rst = cycles < 4;
    out_ready = $random;
    if (!rst && (!in_valid || sent != offered)) begin
      offered = sent;
      in_valid = sent < COUNT && ($random & 3) != 0;
      if (in_valid) inputs = vectors[sent][OUTPUT_BITS +: INPUT_BITS];
    end
  end

  always @(posedge clk) begin
    cycles = cycles + 1;
    if (!rst && out_valid && out_ready) begin
      if (received >= sent || outputs !== vectors[received][OUTPUT_BITS - 1:0]) begin
        errors = errors + 1;
        if (errors <= 10)
          $display("vector %0d: %h, expected %h", received, outputs,
                   vectors[received][OUTPUT_BITS - 1:0]);
      end
      received = received + 1;
    end
    if (!rst && in_valid && in_ready) sent = sent + 1;
    if (received == COUNT && errors == 0) begin
      $display("PASSED: %0d vectors in %0d cycles", COUNT, cycles);
      $finish;
    end else if (received == COUNT || cycles > 20 * COUNT + 10000) begin
      $display("FAILED: %0d of %0d results, %0d of them wrong", received, COUNT, errors);
      $fatal(1);
    end
  end
endmodule
"""
