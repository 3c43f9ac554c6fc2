"""Verilog models of the cells of parts that sums instantiate, for simulation and proof."""

__all__ = ["PRIMITIVE_MODELS"]

PRIMITIVE_MODELS = {
    "ecp5": """\
// What the carry cell and the look-up table of the ECP5 do, for simulation only.
// verilator lint_off DECLFILENAME
// verilator lint_off WIDTHEXPAND
module CCU2C #(
  parameter [15:0] INIT0 = 16'h0000,
  parameter [15:0] INIT1 = 16'h0000,
  parameter INJECT1_0 = "YES",
  parameter INJECT1_1 = "YES"
) (
  input wire CIN,
  input wire A0, B0, C0, D0, A1, B1, C1, D1,
  output wire S0, S1, COUT
);
  wire propagate0 = INIT0[{D0, C0, B0, A0}];
  wire propagate1 = INIT1[{D1, C1, B1, A1}];
  wire generate0 = INJECT1_0 != "YES" && INIT0[{2'b00, B0, A0}];
  wire generate1 = INJECT1_1 != "YES" && INIT1[{2'b00, B1, A1}];
  wire carry = propagate0 ? CIN : generate0;
  assign COUT = propagate1 ? carry : generate1;
  assign S0 = propagate0 ^ (INJECT1_0 != "YES" && CIN);
  assign S1 = propagate1 ^ (INJECT1_1 != "YES" && carry);
endmodule

module LUT4 #(
  parameter [15:0] INIT = 16'h0000
) (
  input wire A, B, C, D,
  output wire Z
);
  assign Z = INIT[{D, C, B, A}];
endmodule

module PFUMX (
  input wire ALUT, BLUT, C0,
  output wire Z
);
  assign Z = C0 ? ALUT : BLUT;
endmodule

module L6MUX21 (
  input wire D0, D1, SD,
  output wire Z
);
  assign Z = SD ? D1 : D0;
endmodule
""",
    "xilinx": """\
// What the carry cell and the look-up tables of the 7 series do, for simulation only.
// verilator lint_off DECLFILENAME
module CARRY4 (
  input wire CI, CYINIT,
  input wire [3:0] DI, S,
  output wire [3:0] O, CO
);
  wire carry0 = S[0] ? CI | CYINIT : DI[0];
  wire carry1 = S[1] ? carry0 : DI[1];
  wire carry2 = S[2] ? carry1 : DI[2];
  wire carry3 = S[3] ? carry2 : DI[3];
  assign CO = {carry3, carry2, carry1, carry0};
  assign O = S ^ {carry2, carry1, carry0, CI | CYINIT};
endmodule

module LUT5 #(
  parameter [31:0] INIT = 32'h0
) (
  input wire I0, I1, I2, I3, I4,
  output wire O
);
  assign O = INIT[{I4, I3, I2, I1, I0}];
endmodule

module LUT6 #(
  parameter [63:0] INIT = 64'h0
) (
  input wire I0, I1, I2, I3, I4, I5,
  output wire O
);
  assign O = INIT[{I5, I4, I3, I2, I1, I0}];
endmodule

module LUT6_2 #(
  parameter [63:0] INIT = 64'h0
) (
  input wire I0, I1, I2, I3, I4, I5,
  output wire O5, O6
);
  assign O5 = INIT[{1'b0, I4, I3, I2, I1, I0}];
  assign O6 = INIT[{I5, I4, I3, I2, I1, I0}];
endmodule
""",
}
"""Verilog models of the cells that a target's chains are built from; not for synthesis."""
