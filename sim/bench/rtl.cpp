/* Runs a Verilated design with streams at both ends over packed vectors, one a cycle.
 *
 * ports.h, made for the design, names its payload ports:
 *     #define FOR_INPUTS(use) use(in_features) use(in_present)
 * A port takes as many 32-bit words as it needs, the least significant first. */

#include "Vtop.h"

#include "ports.h"

#include <cstdint>
#include <cstring>
#include <verilated.h>

namespace {

struct Model {
    VerilatedContext context;
    Vtop top{&context};

    void cycle()
    {
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
    }
};

template <typename Port> const uint32_t *load(Port &port, const uint32_t *words)
{
    if constexpr (sizeof(Port) < sizeof(uint32_t))
        port = static_cast<Port>(*words);
    else
        std::memcpy(&port, words, sizeof(Port));
    return words + (sizeof(Port) + 3) / 4;
}

template <typename Port> uint32_t *store(const Port &port, uint32_t *words)
{
    if constexpr (sizeof(Port) < sizeof(uint32_t))
        *words = port;
    else
        std::memcpy(words, &port, sizeof(Port));
    return words + (sizeof(Port) + 3) / 4;
}

} // namespace

extern "C" {

Model *trilut_make(void)
{
    Model *model = new Model;
    model->top.clk = 0;
    model->top.rst = 1;
    model->top.in_valid = 0;
    model->top.out_ready = 1;
    model->top.eval();
    model->cycle();
    model->top.rst = 0;
    return model;
}

void trilut_free(Model *model)
{
    model->top.final();
    delete model;
}

/* Put vectors in and take results out; return the number of cycles, or -1 if for `patience` cycles
 * the design neither took a vector nor gave a result. */
int64_t trilut_run(Model *model, const uint32_t *in, uint32_t *out, int64_t count, int64_t patience)
{
    Vtop &top = model->top;
    int64_t cycles = 0, num_in = 0, num_out = 0, idle = 0;
    for (; num_out < count; cycles++) {
        top.in_valid = num_in < count;
        const uint32_t *next = in;
        if (num_in < count) {
#define LOAD(port) next = load(top.port, next);
            FOR_INPUTS(LOAD)
        }
        top.eval();
        bool takes = top.in_valid && top.in_ready, gives = top.out_valid;
        if (gives) {
#define STORE(port) out = store(top.port, out);
            FOR_OUTPUTS(STORE)
        }
        model->cycle();
        if (takes)
            in = next;
        num_in += takes;
        num_out += gives;
        idle = takes || gives ? 0 : idle + 1;
        if (idle > patience)
            return -1;
    }
    top.in_valid = 0;
    return cycles;
}
}
