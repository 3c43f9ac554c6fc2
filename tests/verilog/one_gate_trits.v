// The gate min(t0, t1) between ports of trits, combinational, to test the test bench.
module one_gate_trits (
    input clk,
    input rst,
    input in_valid,
    output in_ready,
    input [3:0] in_trits,
    output out_valid,
    input out_ready,
    output [1:0] out_trits
);
    assign in_ready = out_ready;
    assign out_valid = in_valid;
    assign out_trits = {in_trits[1] & in_trits[3], in_trits[0] | in_trits[2]};
endmodule
