/* Runs a Verilated board between its serial pins and a file descriptor, with errors on the way.
 *
 * Bytes from the descriptor are put onto rx bit by bit, and bits on tx are read back as bytes, both
 * as a serial port would do it. */

#include "Vtop.h"

#include <cstdint>
#include <memory>
#include <poll.h>
#include <random>
#include <unistd.h>
#include <verilated.h>

namespace {

/* What ends a frame. */
const uint8_t FLAG = 0x7e;
const int PATIENCE_MS = 2000;

struct Errors {
    double bit_errors, dropped_bytes, resets;
};

struct Board {
    VerilatedContext context;
    std::unique_ptr<Vtop> top;
    int cycles_per_bit;
    Errors errors;
    /* What was done to the line: bits inverted, bytes dropped, resets. */
    uint64_t *done;
    std::mt19937_64 random;

    /* Bits of the byte on rx that are still to come, lowest first, and cycles to the next one. */
    unsigned sending = 0;
    int bits_to_send = 0, send_timer = 0;
    /* Bits that came over tx, and cycles to the middle of the next one. */
    unsigned received = 0;
    int bits_to_receive = 0, receive_timer = 0;

    bool happens(double probability, int which)
    {
        bool yes = std::uniform_real_distribution<>(0, 1)(random) < probability;
        done[which] += yes;
        return yes;
    }

    void cycle()
    {
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
    }

    void reset()
    {
        top->rst = 1;
        cycle();
        cycle();
        top->rst = 0;
    }

    void send(uint8_t byte)
    {
        if (happens(errors.resets, 2))
            reset();
        if (happens(errors.dropped_bytes, 1))
            return;
        sending = (byte | 0x100) << 1;
        bits_to_send = 10;
    }

    void drive()
    {
        if (send_timer-- > 0)
            return;
        send_timer = cycles_per_bit - 1;
        bool bit = true;
        if (bits_to_send) {
            bit = sending & 1;
            sending >>= 1;
            bits_to_send--;
        }
        top->rx = bit ^ happens(errors.bit_errors, 0);
    }

    /* Returns whether a byte is complete. */
    bool sample()
    {
        if (!bits_to_receive) {
            if (!top->tx) {
                bits_to_receive = 9;
                receive_timer = cycles_per_bit + cycles_per_bit / 2 - 1;
            }
            return false;
        }
        if (receive_timer-- > 0)
            return false;
        receive_timer = cycles_per_bit - 1;
        bool bit = top->tx ^ happens(errors.bit_errors, 0);
        received = received >> 1 | bit << 8;
        /* Without its stop bit a byte is lost, as in a real port. */
        return --bits_to_receive == 0 && bit && !happens(errors.dropped_bytes, 1);
    }
};

} // namespace

/* Returns when the descriptor `stop` becomes readable, or the line fails. When nothing has happened
 * for `idle_cycles`, time stands still until the next byte comes. */
extern "C" void trilut_board_run(int line, int stop, int cycles_per_bit, int idle_cycles,
    uint64_t seed, double bit_errors, double dropped_bytes, double resets, uint64_t *done)
{
    Board board;
    board.context.randReset(2);
    board.context.randSeed(static_cast<int>(seed % 0x7fffffff) + 1);
    board.top = std::make_unique<Vtop>(&board.context);
    board.cycles_per_bit = cycles_per_bit;
    board.errors = { bit_errors, dropped_bytes, resets };
    board.done = done;
    board.random.seed(seed);
    board.top->rx = 1;
    board.top->clk = 0;
    board.reset();

    uint8_t buffer[4096];
    ssize_t held = 0, used = 0;
    int quiet = 0;
    bool is_cut = false;
    for (uint64_t cycle = 0;; cycle++) {
        bool is_idle = used == held && !board.bits_to_send && !board.bits_to_receive;
        quiet = is_idle ? quiet + 1 : 0;
        /* The rest between two looks costs nothing but a delay of as many cycles. */
        if (used == held && (is_cut || quiet > idle_cycles || cycle % 256 == 0)) {
            pollfd wanted[] = { { line, POLLIN, 0 }, { stop, POLLIN, 0 } };
            /* A writer that was interrupted amid a frame gets a moment: the board counts cycles,
             * and there are many in it. */
            int moment = is_cut ? PATIENCE_MS : 0;
            is_cut = false;
            if (poll(wanted, 2, quiet > idle_cycles ? -1 : moment) < 0 || wanted[1].revents)
                return;
            if (wanted[0].revents) {
                held = read(line, buffer, sizeof buffer);
                used = 0;
                if (held <= 0)
                    return;
                is_cut = buffer[held - 1] != FLAG;
            }
            quiet = quiet > idle_cycles ? 0 : quiet;
        }
        if (used < held && !board.bits_to_send)
            board.send(buffer[used++]);
        board.drive();
        board.cycle();
        if (board.sample()) {
            uint8_t byte = board.received;
            if (write(line, &byte, 1) != 1)
                return;
        }
    }
}
