/* Accesses to a Verilated peripheral on a bus, with random stalls, and what its bus must keep.
 *
 * With BUS_AXI it is AXI4-Lite, else Wishbone. Answers are 0, or 1 for an error. */

#include "Vtop.h"

#include <cstdint>
#include <verilated.h>

namespace {

VerilatedContext context;
Vtop *top;
uint32_t state = 1;
bool stalls;
long cycles, violations;

bool chance()
{
    state = state * 1664525u + 1013904223u;
    return !stalls || state >> 30 != 0;
}

#ifdef BUS_AXI
int writes, reads; // taken and not answered
bool held_b, held_r;
uint32_t old_b, old_r, old_data;
#endif

/* One clock edge; checks what was promised before it. */
void cycle()
{
    top->eval();
#ifdef BUS_AXI
    if (held_b && (!top->s_axi_bvalid || top->s_axi_bresp != old_b))
        violations++;
    if (held_r && (!top->s_axi_rvalid || top->s_axi_rresp != old_r || top->s_axi_rdata != old_data))
        violations++;
    if ((top->s_axi_bvalid && writes == 0) || (top->s_axi_rvalid && reads == 0))
        violations++;
    if (top->s_axi_awready != top->s_axi_wready && top->s_axi_awvalid && top->s_axi_wvalid)
        violations++;
    held_b = top->s_axi_bvalid && !top->s_axi_bready && !top->rst;
    held_r = top->s_axi_rvalid && !top->s_axi_rready && !top->rst;
    old_b = top->s_axi_bresp;
    old_r = top->s_axi_rresp;
    old_data = top->s_axi_rdata;
    writes += (top->s_axi_awvalid && top->s_axi_awready) - (top->s_axi_bvalid && top->s_axi_bready);
    reads += (top->s_axi_arvalid && top->s_axi_arready) - (top->s_axi_rvalid && top->s_axi_rready);
    if (top->rst)
        writes = reads = 0;
#else
    if (top->wb_ack && top->wb_err)
        violations++;
    if ((top->wb_ack || top->wb_err) && !(top->wb_cyc && top->wb_stb))
        violations++;
#endif
    top->clk = 1;
    top->eval();
    top->clk = 0;
    top->eval();
    cycles++;
}

void idle()
{
    while (!chance())
        cycle();
}

} // namespace

extern "C" {

void bus_idle(int count)
{
    for (int i = 0; i < count; i++)
        cycle();
}

void bus_reset()
{
    top->rst = 1;
    bus_idle(2);
    top->rst = 0;
}

void bus_make(int with_stalls)
{
    top = new Vtop(&context);
    stalls = with_stalls;
    top->clk = 0;
    bus_reset();
    violations = 0;
}

long bus_cycles() { return cycles; }
long bus_violations() { return violations; }
int bus_interrupt()
{
    top->eval();
    return top->irq;
}

#ifdef BUS_AXI
/* Do a write, a read or both at once; answers are those of AXI. */
void bus_access(int writing, uint32_t address, uint32_t data, int strobes, int reading,
                uint32_t from, int *write_answer, uint32_t *value, int *read_answer)
{
    bool aw = writing, w = writing, b = writing, ar = reading, r = reading;
    for (int patience = 0; (b || r) && patience < 1000; patience++) {
        // What is valid stays valid; what is not may wait.
        top->s_axi_awvalid = aw && (top->s_axi_awvalid || chance());
        top->s_axi_wvalid = w && (top->s_axi_wvalid || chance());
        top->s_axi_arvalid = ar && (top->s_axi_arvalid || chance());
        top->s_axi_bready = chance();
        top->s_axi_rready = chance();
        top->s_axi_awaddr = address;
        top->s_axi_wdata = data;
        top->s_axi_wstrb = strobes;
        top->s_axi_araddr = from;
        top->eval();
        const bool got_b = top->s_axi_bvalid && top->s_axi_bready;
        const bool got_r = top->s_axi_rvalid && top->s_axi_rready;
        const bool gave_aw = top->s_axi_awvalid && top->s_axi_awready;
        const bool gave_w = top->s_axi_wvalid && top->s_axi_wready;
        const bool gave_ar = top->s_axi_arvalid && top->s_axi_arready;
        if (got_b)
            *write_answer = top->s_axi_bresp;
        if (got_r) {
            *read_answer = top->s_axi_rresp;
            *value = top->s_axi_rdata;
        }
        cycle();
        aw &= !gave_aw;
        w &= !gave_w;
        ar &= !gave_ar;
        b &= !got_b;
        r &= !got_r;
        top->s_axi_awvalid = top->s_axi_awvalid && aw;
        top->s_axi_wvalid = top->s_axi_wvalid && w;
        top->s_axi_arvalid = top->s_axi_arvalid && ar;
    }
    if (b || r)
        violations++;
    idle();
}

int bus_write(uint32_t address, uint32_t data, int strobes)
{
    int answer = 3, unused;
    uint32_t value;
    bus_access(1, address, data, strobes, 0, 0, &answer, &value, &unused);
    return answer;
}

int bus_read(uint32_t address, uint32_t *value)
{
    int answer = 3, unused;
    bus_access(0, 0, 0, 0, 1, address, &unused, value, &answer);
    return answer;
}
#else
static int transfer(uint32_t address, int we, uint32_t data, int strobes, uint32_t *value)
{
    top->wb_cyc = 1;
    idle();
    top->wb_stb = 1;
    top->wb_adr = address;
    top->wb_we = we;
    top->wb_dat_w = data;
    top->wb_sel = strobes;
    int answer = 3;
    for (int patience = 0; answer == 3 && patience < 1000; patience++) {
        top->eval();
        if (top->wb_ack || top->wb_err) {
            answer = top->wb_err ? 2 : 0;
            *value = top->wb_dat_r;
        }
        cycle();
    }
    violations += answer == 3;
    top->wb_stb = 0;
    top->wb_cyc = !chance();
    idle();
    return answer;
}

int bus_write(uint32_t address, uint32_t data, int strobes)
{
    uint32_t unused;
    return transfer(address, 1, data, strobes, &unused);
}

int bus_read(uint32_t address, uint32_t *value) { return transfer(address, 0, 0, 15, value); }
#endif

/* What the driver in C is compiled to call. */
uint32_t driver_read(uint32_t address)
{
    uint32_t value = 0;
    violations += bus_read(address, &value) != 0;
    return value;
}

void driver_write(uint32_t address, uint32_t word)
{
    violations += bus_write(address, word, 15) != 0;
}
}
