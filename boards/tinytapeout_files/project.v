// The pins of a Tiny Tapeout project around the classifier in @CORE@.v.

`default_nettype none

module @TOP@ (
    input  wire [7:0] ui_in,    // a byte of a packet
    output wire [7:0] uo_out,   // a byte of the result
    input  wire [7:0] uio_in,
    output wire [7:0] uio_out,
    output wire [7:0] uio_oe,
    input  wire       ena,      // always 1 while the project has power
    input  wire       clk,
    input  wire       rst_n
);

  // The reset comes at any time, and ends with the clock.
  reg [1:0] reset_n;
  always @(posedge clk) reset_n <= {reset_n[0], rst_n};

  wire byte_ready, result_valid, framing_error, last;
  wire [@LAST_BIT@:0] bits;
  wire [31:0] result = @RESULT@;

  @CORE@ core (
      .clk(clk),
      .rst(~reset_n[1]),
      .s_axis_tdata(ui_in),
      .s_axis_tvalid(uio_in[0]),
      .s_axis_tlast(uio_in[1]),
      .s_axis_tready(byte_ready),
      .m_axis_tdata(bits),
      .m_axis_tvalid(result_valid),
      .m_axis_tready(uio_in[2]),
      .m_axis_tlast(last),
      .framing_error(framing_error)
  );

  assign uo_out  = result[8 * uio_in[4:3] +: 8];
  assign uio_out = {framing_error, result_valid, byte_ready, 5'b00000};
  assign uio_oe  = 8'b11100000;

  wire unused = &{1'b0, ena, last, uio_in[7:5]};

endmodule

`default_nettype wire
