/* A Verilated engine: models are loaded and samples are run, with random stalls if asked for. */

#include "Vtop.h"

#include <cstdint>
#include <verilated.h>

namespace {

VerilatedContext *context;
Vtop *top;
uint64_t cycles;
uint32_t state = 1;

bool stalled(bool stalls)
{
    state = state * 1664525u + 1013904223u;
    return stalls && state >> 30 == 0;
}

template <typename Port> void put(Port &port, const uint32_t *words)
{
    port = sizeof(Port) > 4 ? (uint64_t)words[1] << 32 | words[0] : words[0];
}

template <std::size_t Words> void put(VlWide<Words> &port, const uint32_t *words)
{
    for (std::size_t word = 0; word < Words; word++)
        port[word] = words[word];
}

void cycle()
{
    top->eval();
    top->clk = 1;
    top->eval();
    top->clk = 0;
    top->eval();
    cycles++;
}

} // namespace

extern "C" {

void engine_open()
{
    context = new VerilatedContext;
    top = new Vtop{context};
    top->clk = 0;
    top->rst = 1;
    cycle();
    top->rst = 0;
    cycle();
}

void engine_close()
{
    delete top;
    delete context;
}

/* Returns the state of the loader when it is done with the bytes, or refuses them. */
int engine_load(const uint8_t *content, uint64_t size)
{
    const int loading = 1;
    top->model_start = 1;
    cycle();
    top->model_start = 0;
    for (uint64_t byte = 0; byte < size;) {
        top->model_valid = 1;
        top->model_data = content[byte];
        top->eval();
        byte += top->model_ready;
        cycle();
        if (top->model_state > loading + 1)
            break;
    }
    top->model_valid = 0;
    for (int wait = 0; wait < 16; wait++)
        cycle();
    return top->model_state;
}

/* Feeds vectors [beat], each of some words of values and some of what is present, and takes as many
 * answers; returns the cycles from the first beat to the last answer, 0 if there is none for long. */
uint64_t engine_run(const uint32_t *values, uint64_t value_words, const uint32_t *present,
                    uint64_t present_words, uint64_t beats, uint64_t answers, int stalls,
                    uint32_t *chosen, uint32_t *margin, uint8_t *unknown)
{
    const uint64_t patience = 1u << 22;
    uint64_t beat = 0, answer = 0, begin = cycles, moved = cycles;
    bool offered = false;
    while (answer < answers) {
        if (!offered)
            offered = beat < beats && !stalled(stalls);
        top->in_valid = offered;
        if (offered) {
            put(top->in_values, values + beat * value_words);
            put(top->in_present, present + beat * present_words);
        }
        top->out_ready = !stalled(stalls);
        top->eval();
        if (offered && top->in_ready) {
            beat++;
            offered = false;
            moved = cycles;
        }
        if (top->out_valid && top->out_ready) {
            chosen[answer] = top->out_class;
            margin[answer] = top->out_margin;
            unknown[answer] = top->out_unknown;
            answer++;
            moved = cycles;
        }
        cycle();
        if (cycles - moved > patience)
            return 0;
    }
    top->in_valid = 0;
    return cycles - begin;
}
}
