// A classifier of one gate, written by hand to test the test bench. It computes
//
//     t0 = x < 5 ? -1 : x >= 9 ? +1 : 0        x: 4 bits
//     t1 = y < -1 ? -1 : y >= 2 ? +1 : 0       y: 3 bits, signed
//     class 0: min(t0, t1)    class 1: t0
//
// two cycles after a vector goes in. The argument +fault=N makes it do one thing wrong.
module one_gate (
    input clk,
    input rst,
    input in_valid,
    output in_ready,
    input [6:0] in_features,
    input [1:0] in_present,
    output out_valid,
    input out_ready,
    output out_class,
    output [1:0] out_margin,
    output out_unknown,
    output [3:0] out_scores
);
    localparam CORRUPT = 1, UNSTABLE = 2, LOST = 3, EXTRA = 4, LEFTOVER = 5, LATENCY = 6,
               THROUGHPUT = 7, HANG = 8, MISSING = 9, FALLS = 10;

    integer fault;
    initial if (!$value$plusargs("fault=%d", fault)) fault = 0;

    reg [15:0] num_taken, cycle;
    wire take = in_valid & in_ready;
    wire special = num_taken[4:0] == 17;

    // Encoder: bit 1 is +1, bit 0 is -1.
    wire [3:0] x = in_features[3:0];
    wire signed [2:0] y = in_features[6:4];
    wire [1:0] present = fault == MISSING ? 2'b11 : in_present;
    wire [1:0] t0 = {x >= 9, x < 5} & {2{present[0]}};
    wire [1:0] t1 = {y >= 2, y < -1} & {2{present[1]}};

    reg [1:0] a, b;
    wire [1:0] right = {a[1] & b[1], a[0] | b[0]};
    wire [1:0] gate = fault == CORRUPT && a == 2'b10 && b == 2'b00 ? 2'b10 : right;

    wire signed [1:0] s0 = gate[1] ? 2'sd1 : gate[0] ? -2'sd1 : 2'sd0;
    wire signed [1:0] s1 = a[1] ? 2'sd1 : a[0] ? -2'sd1 : 2'sd0;
    wire signed [2:0] difference = s0 - s1;

    reg [2:0] valid = 0;
    reg [8:0] stage [1:2];
    wire slow = fault == LATENCY;
    wire last = slow ? valid[2] : valid[1];
    wire enable = !last | (out_valid & out_ready);
    wire paused = fault == THROUGHPUT && cycle[2:0] == 0 || fault == HANG && num_taken > 60;
    assign in_ready = enable & !paused;

    reg duplicate;
    reg stalled;
    assign out_valid = last & !(fault == FALLS && stalled && cycle[2:0] == 0);
    assign {out_class, out_margin, out_unknown, out_scores} = slow ? stage[2] : stage[1];

    always @(posedge clk) begin
        cycle <= cycle + 1;
        stalled <= out_valid & !out_ready;
        if (enable || fault == UNSTABLE) begin
            a <= t0;
            b <= t1;
            stage[1] <= {difference < 0, difference < 0 ? 2'(-difference) : difference[1:0],
                         difference == 0, s1, s0};
            stage[2] <= stage[1];
        end
        if (enable) begin
            valid <= {valid[1:0], take & !(fault == LOST && special)};
            duplicate <= fault == EXTRA && special && take;
            if (duplicate && !take) valid[0] <= 1;
        end
        if (take) num_taken <= num_taken + 1;
        if (rst) begin
            num_taken <= 0;
            cycle <= 0;
            duplicate <= 0;
            stalled <= 0;
            if (fault != LEFTOVER) valid <= 0;
        end
    end
endmodule
