"""Designs by hand: the minimum of two trits behind a stream, in other ways than ours."""

import numpy as np

from trilut import Netlist
from trilut.circuit.gates import NAMED_GATES

MINIMUM = Netlist.of_gates(
    2, np.array([NAMED_GATES["and"]], dtype=np.int8), [0], [1], [2], name="minimum"
)
GATE = "{in_trits[3] & in_trits[1], in_trits[2] | in_trits[0]}"

ONE_PLACE = """
module hand(input clk, input rst, input in_valid, output in_ready, input [3:0] in_trits,
            output out_valid, input out_ready, output [1:0] out_trits);
  reg here;
  reg [1:0] kept;
  assign in_ready = ~here | out_ready;
  assign out_valid = here;
  assign out_trits = kept;
  always @(posedge clk) begin
    if (rst) here <= 1'b0;
    else if (in_ready) here <= in_valid;
    if (in_ready) kept <= GATE;
  end
endmodule
""".replace("GATE", GATE)
TWO_STAGES = """
module hand(input clk, input rst, input in_valid, output in_ready, input [3:0] in_trits,
            output out_valid, input out_ready, output [1:0] out_trits);
  reg a, b;
  reg [3:0] x;
  reg [1:0] y;
  wire go_b = ~b | out_ready;
  wire go_a = ~a | go_b;
  assign in_ready = go_a;
  assign out_valid = b;
  assign out_trits = y;
  always @(posedge clk) begin
    if (go_a) begin a <= in_valid; x <= in_trits; end
    if (go_b) begin b <= a; y <= {x[3] & x[1], x[2] | x[0]}; end
    if (rst) begin a <= 1'b0; b <= 1'b0; end
  end
endmodule
"""
QUEUE = """
module hand(input clk, input rst, input in_valid, output in_ready, input [3:0] in_trits,
            output out_valid, input out_ready, output [1:0] out_trits);
  reg [1:0] first, second;
  reg write, read;
  reg [1:0] count;
  wire push = in_valid & in_ready;
  wire pop = out_valid & out_ready;
  assign in_ready = count != 2'd2;
  assign out_valid = count != 2'd0;
  assign out_trits = read ? second : first;
  always @(posedge clk) begin
    if (push & ~write) first <= GATE;
    if (push & write) second <= GATE;
    write <= write ^ push;
    read <= read ^ pop;
    count <= count + {1'b0, push} - {1'b0, pop};
    if (rst) begin write <= 1'b0; read <= 1'b0; count <= 2'd0; end
  end
endmodule
""".replace("GATE", GATE)
RIGHT = {"one place": (ONE_PLACE, 1), "two stages": (TWO_STAGES, 2), "queue": (QUEUE, 1)}
