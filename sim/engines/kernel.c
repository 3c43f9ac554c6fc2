/* The interpreter of plane instructions, and what stands before and after the gates.
 *
 * Compiled once for a machine, never for a netlist: sim/native.py puts the generated macro
 * PLANE_KERNELS(KERNEL) before this text. A step takes 512 samples from features or trits through
 * all instructions to trits, scores or decisions; a plane is 8 words, one line of the cache.
 */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { WORDS = 8, STEP = 64 * WORDS, BLOCK = 1024, NO_PLANE = -1 };

typedef uint64_t vector __attribute__((vector_size(32), may_alias));
enum { VECTORS = WORDS * 8 / sizeof(vector) };

/* Mirrored by ctypes structures in sim/native.py; the order matters. */

struct program {
    int64_t planes_per_net, num_runs, num_inputs, num_outputs;
    const uint32_t *runs, *operands;
    const int32_t *inputs;
    const uint32_t *outputs;
    const uint64_t *bits;       /* [input / 64]; the inputs that are bits, one bit each */
    const int64_t *num_scores;  /* [output]; planes of a score, -1 for others; may be NULL */
    const int64_t *lowest;      /* [output]; of a score */
};

struct encoder {
    int64_t num_features, num_trits, is_wide;
    const double *scale, *offset, *lowest, *highest; /* [feature] */
    const double *least_seen, *most_seen;            /* [feature]; others are missing */
    const int64_t *first_trit;                       /* [feature + 1]; trits sorted by feature */
    const int32_t *plane;                            /* [trit] */
    const uint32_t *low, *high;                      /* [trit], counted from the lowest integer */
    const uint64_t *low_mask, *high_mask;            /* [trit]; 0: never reached */
    const uint64_t *missing_mask;                    /* [trit]; 0: UNKNOWN, else FALSE */
};

/* A class adds its outputs up in parts: trits, two planes each, then single planes that count 1, 2,
 * 4 and 8. */
enum { PARTS = 5 };

struct head {
    int64_t num_classes, abstain_margin;
    const int64_t *first_output; /* [class + 1] */
    const int64_t *base;         /* [class]; what a class has if no plane is set */
    const int64_t *first_plane;  /* [PARTS * class + 1] */
    const uint32_t *planes;
};

enum source_kind { TRITS, FLOAT64, FLOAT32, UINT8, INT64 };

struct batch {
    int64_t kind, num_samples, num_columns;
    const void *samples;  /* [sample, column] */
    const uint8_t *valid; /* [sample, column]; may be NULL */
    int8_t *outputs;      /* [sample, output]; may be NULL, as may all below */
    int64_t *scores;      /* [sample, class] */
    int64_t *chosen, *margin;
    uint8_t *unknown, *certain;
};

/* Gates. */

#define KERNEL(number, expression)                                                            \
    static void kernel_##number(vector *planes, const uint32_t *operand, uint32_t count)      \
    {                                                                                         \
        const vector zero = {0}, one = ~zero;                                                 \
        (void)one;                                                                            \
        for (const uint32_t *end = operand + 3 * (size_t)count; operand < end; operand += 3) { \
            const vector *a_plus = planes + (size_t)operand[0] * VECTORS;                     \
            const vector *a_minus = planes + (size_t)(operand[0] ^ 1) * VECTORS;              \
            const vector *b_plus = planes + (size_t)operand[1] * VECTORS;                     \
            const vector *b_minus = planes + (size_t)(operand[1] ^ 1) * VECTORS;              \
            vector *result = planes + (size_t)operand[2] * VECTORS;                           \
            for (int i = 0; i < VECTORS; i++)                                                 \
                result[i] = expression;                                                       \
            (void)a_plus, (void)a_minus, (void)b_plus, (void)b_minus, (void)zero;             \
        }                                                                                     \
    }
#define ap a_plus[i]
#define am a_minus[i]
#define bp b_plus[i]
#define bm b_minus[i]
PLANE_KERNELS(KERNEL)
#undef ap
#undef am
#undef bp
#undef bm
#undef KERNEL

/* A table of up to six inputs: all functions of the first two, of which every four rows of the table
 * are one, then a tree of choices by the others. */
static inline __attribute__((always_inline)) void look_up(vector *planes, const uint32_t *operand,
                                                          uint32_t count, int num_inputs)
{
    const vector zero = {0}, one = ~zero;
    for (const uint32_t *end = operand + 3 * (size_t)count; operand < end; operand += 9) {
        uint64_t table = operand[7] | (uint64_t)operand[8] << 32;
        for (int i = 0; i < VECTORS; i++) {
            vector a = planes[(size_t)operand[0] * VECTORS + i];
            vector b = planes[(size_t)operand[1] * VECTORS + i];
            vector pairs[16] = {zero,   ~(a | b),  a & ~b, ~b,     ~a & b, ~a,    a ^ b, ~(a & b),
                                a & b,  ~(a ^ b),  a,      a | ~b, b,      ~a | b, a | b, one};
            vector part[16];
            for (int j = 0; j < 1 << (num_inputs - 2); j++)
                part[j] = pairs[table >> 4 * j & 15];
            for (int input = 2; input < num_inputs; input++) {
                vector x = planes[(size_t)operand[input] * VECTORS + i];
                for (int j = 0; j < 1 << (num_inputs - 1 - input); j++)
                    part[j] = part[2 * j] ^ (x & (part[2 * j] ^ part[2 * j + 1]));
            }
            planes[(size_t)operand[6] * VECTORS + i] = part[0];
        }
    }
}

#define LUT(num_inputs)                                                                 \
    static void lut_##num_inputs(vector *planes, const uint32_t *operand, uint32_t count) \
    {                                                                                   \
        look_up(planes, operand, count, num_inputs);                                    \
    }
LUT(3)
LUT(4)
LUT(5)
LUT(6)
#undef LUT

#define KERNEL(number, expression) kernel_##number,
static void (*const kernels[])(vector *, const uint32_t *, uint32_t) = {
    PLANE_KERNELS(KERNEL) lut_3, lut_4, lut_5, lut_6};
#undef KERNEL

static void run_gates(const struct program *program, uint64_t *planes)
{
    const uint32_t *operand = program->operands;
    for (int64_t run = 0; run < program->num_runs; run++) {
        uint32_t count = program->runs[2 * run + 1];
        kernels[program->runs[2 * run]]((vector *)planes, operand, count);
        operand += 3 * (size_t)count;
    }
}

void trilut_gates(const struct program *program, uint64_t *planes, int64_t num_steps)
{
    for (int64_t step = 0; step < num_steps; step++)
        run_gates(program, planes);
}

/* Bits. */

#define EXCHANGE(width, mask)                                                        \
    for (int i = 0; i < 64; i += 2 * width)                                          \
        for (int j = i; j < i + width; j++) {                                        \
            uint64_t moved = ((rows[j] >> width) ^ rows[j + width]) & mask;          \
            rows[j] ^= moved << width;                                               \
            rows[j + width] ^= moved;                                                \
        }

static void transpose(uint64_t rows[64])
{
    EXCHANGE(32, 0x00000000FFFFFFFF)
    EXCHANGE(16, 0x0000FFFF0000FFFF)
    EXCHANGE(8, 0x00FF00FF00FF00FF)
    EXCHANGE(4, 0x0F0F0F0F0F0F0F0F)
    EXCHANGE(2, 0x3333333333333333)
    EXCHANGE(1, 0x5555555555555555)
}

#ifndef __AVX2__
/* The same for 8 × 8 octets. */
static void transpose_octets(uint64_t rows[8])
{
    for (int i = 0; i < 4; i++) {
        uint64_t moved = ((rows[i] >> 32) ^ rows[i + 4]) & 0x00000000FFFFFFFF;
        rows[i] ^= moved << 32;
        rows[i + 4] ^= moved;
    }
    for (int k = 0; k < 4; k++) {
        int i = k + (k & 2);
        uint64_t moved = ((rows[i] >> 16) ^ rows[i + 2]) & 0x0000FFFF0000FFFF;
        rows[i] ^= moved << 16;
        rows[i + 2] ^= moved;
    }
    for (int i = 0; i < 8; i += 2) {
        uint64_t moved = ((rows[i] >> 8) ^ rows[i + 1]) & 0x00FF00FF00FF00FF;
        rows[i] ^= moved << 8;
        rows[i + 1] ^= moved;
    }
}
#endif

/* One bit for each of 64 values. */

#ifdef __AVX2__
static uint64_t both_halves(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

static uint64_t above(const int8_t *x, int8_t limit)
{
    __m256i other = _mm256_set1_epi8(limit);
    __m256i low = _mm256_loadu_si256((const __m256i *)x);
    __m256i high = _mm256_loadu_si256((const __m256i *)(x + 32));
    return both_halves(_mm256_cmpgt_epi8(low, other), _mm256_cmpgt_epi8(high, other));
}

static uint64_t reaches_narrow(const uint8_t *x, uint32_t threshold)
{
    __m256i other = _mm256_set1_epi8((char)threshold);
    __m256i low = _mm256_loadu_si256((const __m256i *)x);
    __m256i high = _mm256_loadu_si256((const __m256i *)(x + 32));
    return both_halves(_mm256_cmpeq_epi8(_mm256_max_epu8(low, other), low),
                       _mm256_cmpeq_epi8(_mm256_max_epu8(high, other), high));
}

static uint64_t reaches_wide(const uint32_t *x, uint32_t threshold)
{
    __m256i other = _mm256_set1_epi32((int)threshold);
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) {
        __m256i part = _mm256_loadu_si256((const __m256i *)(x + 8 * i));
        __m256i equal = _mm256_cmpeq_epi32(_mm256_max_epu32(part, other), part);
        word |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(equal)) << 8 * i;
    }
    return word;
}
#else
#define DEFINE_MASK(name, type, other, operator)                 \
    static uint64_t name(const type *x, other limit)             \
    {                                                            \
        uint64_t word = 0;                                       \
        for (int i = 0; i < 64; i++)                             \
            word |= (uint64_t)(x[i] operator limit) << i;        \
        return word;                                             \
    }
DEFINE_MASK(above, int8_t, int8_t, >)
DEFINE_MASK(reaches_narrow, uint8_t, uint32_t, >=)
DEFINE_MASK(reaches_wide, uint32_t, uint32_t, >=)
#endif

/* From trits to planes. Return whether all are truth values. */

static int pack_trits(const struct program *program, const int8_t *samples, int count,
                      uint64_t *planes)
{
    int64_t width = program->num_inputs;
    int is_binary = program->planes_per_net == 1;
    uint64_t wrong = 0;
    for (int64_t first = 0; first < width; first += 64)
        for (int word = 0; 64 * word < count; word++) {
            uint64_t plus[64] = {0}, minus[64] = {0};
            int columns = width - first < 64 ? (int)(width - first) : 64;
            uint64_t all = columns < 64 ? (1ull << columns) - 1 : ~0ull;
            uint64_t bits = program->bits[first / 64];
            int rows = count - 64 * word < 64 ? count - 64 * word : 64;
            for (int row = 0; row < rows; row++) {
                const int8_t *x = samples + (64 * word + row) * width + first;
                int8_t padded[64];
                if (columns < 64) {
                    memset(padded, 0, 64);
                    memcpy(padded, x, (size_t)columns);
                    x = padded;
                }
                uint64_t not_minus = above(x, -1);
                plus[row] = above(x, 0);
                minus[row] = ~not_minus & all;
                wrong |= above(x, 1) | ~above(x, -2);
                wrong |= not_minus & ~plus[row] & bits;
            }
            transpose(plus);
            if (!is_binary)
                transpose(minus);
            for (int column = 0; column < columns; column++) {
                int32_t plane = program->inputs[first + column];
                if (plane == NO_PLANE)
                    continue;
                planes[(size_t)plane * WORDS + word] = plus[column];
                if (!is_binary)
                    planes[((size_t)plane + 1) * WORDS + word] = minus[column];
            }
        }
    return wrong == 0;
}

/* From features to planes: levels, integers counted from the lowest one, first row by row as the
 * samples stand in memory, then a tile [feature, sample], then thresholds. */

struct tile {
    union {
        uint8_t narrow_rows[64][BLOCK];
        uint32_t wide_rows[64][BLOCK];
    };
    union {
        uint8_t narrow[BLOCK][STEP];
        uint32_t wide[BLOCK][STEP];
    };
    uint64_t valid[BLOCK][WORDS];
};

/* Floor before clamp, clamp before the difference: exactly what the encoder's quantize does. The
 * comparisons send NaN to the lowest integer; its valid bit is cleared, as is that of integers
 * which do not count. */
#define DEFINE_QUANTIZE(name, type, level_type, to_level)                                        \
    static int name(const struct encoder *encoder, const type *restrict x, int64_t first,        \
                    int width, level_type *restrict level)                                       \
    {                                                                                            \
        const double *scale = encoder->scale + first, *offset = encoder->offset + first;         \
        const double *lowest = encoder->lowest + first, *highest = encoder->highest + first;     \
        const double *least = encoder->least_seen + first, *most = encoder->most_seen + first;   \
        int missing = 0;                                                                         \
        for (int i = 0; i < width; i++) {                                                        \
            double value = floor((double)x[i] * scale[i] + offset[i]);                           \
            missing |= !(value >= least[i]) | !(value <= most[i]);                               \
            value = value > lowest[i] ? value : lowest[i];                                       \
            value = value < highest[i] ? value : highest[i];                                     \
            level[i] = to_level(value - lowest[i]);                                              \
        }                                                                                        \
        return missing;                                                                          \
    }
#define NARROW(level) (uint8_t)(int32_t)(level)
/* Through a signed integer, which vector units can convert to. */
#define WIDE(level) (uint32_t)(int32_t)((level) - 2147483648.0) ^ 0x80000000
DEFINE_QUANTIZE(narrow_float64, double, uint8_t, NARROW)
DEFINE_QUANTIZE(narrow_float32, float, uint8_t, NARROW)
DEFINE_QUANTIZE(narrow_int64, int64_t, uint8_t, NARROW)
DEFINE_QUANTIZE(wide_float64, double, uint32_t, WIDE)
DEFINE_QUANTIZE(wide_float32, float, uint32_t, WIDE)
DEFINE_QUANTIZE(wide_int64, int64_t, uint32_t, WIDE)

static int is_missing(const struct encoder *encoder, const struct batch *batch, int64_t at,
                      int64_t feature)
{
    double value = batch->kind == FLOAT64   ? ((const double *)batch->samples)[at]
                   : batch->kind == FLOAT32 ? ((const float *)batch->samples)[at]
                                            : (double)((const int64_t *)batch->samples)[at];
    value = floor(value * encoder->scale[feature] + encoder->offset[feature]);
    return !(value >= encoder->least_seen[feature]) || !(value <= encoder->most_seen[feature]) ||
           (batch->valid && !batch->valid[at]);
}

static int64_t octets(const struct batch *batch)
{
    return batch->kind == UINT8 ? 1 : batch->kind == FLOAT32 ? 4 : 8;
}

/* Quantize features first … first+width-1 of one sample into row `row` of the tile. */
static void quantize(const struct encoder *encoder, const struct batch *batch, int64_t sample,
                     int64_t first, int width, int row, struct tile *tile)
{
    int64_t at = sample * batch->num_columns + first;
    uint8_t *narrow = tile->narrow_rows[row % 64];
    uint32_t *wide = tile->wide_rows[row % 64];
    const void *x = (const char *)batch->samples + at * octets(batch);
    int missing = batch->valid != NULL;
    switch (batch->kind) {
    case FLOAT64:
        missing |= encoder->is_wide ? wide_float64(encoder, x, first, width, wide)
                                    : narrow_float64(encoder, x, first, width, narrow);
        break;
    case FLOAT32:
        missing |= encoder->is_wide ? wide_float32(encoder, x, first, width, wide)
                                    : narrow_float32(encoder, x, first, width, narrow);
        break;
    case INT64:
        missing |= encoder->is_wide ? wide_int64(encoder, x, first, width, wide)
                                    : narrow_int64(encoder, x, first, width, narrow);
        break;
    default: /* Octets are their own levels: the thresholds were made for them. */
        memcpy(narrow, x, (size_t)width);
    }
    for (int i = 0; missing && i < width; i++)
        if (is_missing(encoder, batch, at + i, first + i))
            tile->valid[i][row / 64] &= ~(1ull << row % 64);
}

/* Transpose TURN × TURN octets, from rows of BLOCK to rows of STEP. */
#ifdef __AVX2__
enum { TURN = 16 };

static void turn_octets(const uint8_t *from, uint8_t *to)
{
    __m128i x[16], y[16];
    for (int i = 0; i < 16; i++)
        x[i] = _mm_loadu_si128((const __m128i *)(from + BLOCK * i));
    /* Rows i and i + 8 side by side: after four times, rows are columns. */
    for (int i = 0; i < 8; i++) {
        y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]);
        y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]);
    }
    for (int i = 0; i < 8; i++) {
        x[2 * i] = _mm_unpacklo_epi8(y[i], y[i + 8]);
        x[2 * i + 1] = _mm_unpackhi_epi8(y[i], y[i + 8]);
    }
    for (int i = 0; i < 8; i++) {
        y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]);
        y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]);
    }
    for (int i = 0; i < 8; i++) {
        x[2 * i] = _mm_unpacklo_epi8(y[i], y[i + 8]);
        x[2 * i + 1] = _mm_unpackhi_epi8(y[i], y[i + 8]);
    }
    for (int i = 0; i < 16; i++)
        _mm_storeu_si128((__m128i *)(to + STEP * i), x[i]);
}
#else
enum { TURN = 8 };

static void turn_octets(const uint8_t *from, uint8_t *to)
{
    uint64_t octets[8];
    for (int i = 0; i < 8; i++)
        memcpy(&octets[i], from + BLOCK * i, 8);
    transpose_octets(octets);
    for (int i = 0; i < 8; i++)
        memcpy(to + STEP * i, &octets[i], 8);
}
#endif

/* Move 64 rows into word `word` of the columns. */
static void turn(struct tile *tile, int is_wide, int width, int word)
{
    if (is_wide) {
        for (int i = 0; i < width; i++)
            for (int row = 0; row < 64; row++)
                tile->wide[i][64 * word + row] = tile->wide_rows[row][i];
        return;
    }
    for (int first = 0; first < width; first += TURN)
        for (int row = 0; row < 64; row += TURN)
            turn_octets(&tile->narrow_rows[row][first], &tile->narrow[first][64 * word + row]);
}

#define DEFINE_COMPARE(name, column, reaches)                                                  \
    static void name(const struct encoder *encoder, const struct tile *tile, int feature,      \
                     int64_t trit, int is_binary, int num_words, uint64_t *planes)             \
    {                                                                                          \
        uint64_t *plus = planes + (size_t)encoder->plane[trit] * WORDS, *minus = plus + WORDS; \
        uint64_t missing = encoder->missing_mask[trit];                                        \
        uint64_t high_mask = encoder->high_mask[trit], low_mask = encoder->low_mask[trit];     \
        uint32_t high = encoder->high[trit], low = encoder->low[trit];                         \
        for (int word = 0; word < num_words; word++) {                                         \
            uint64_t valid = tile->valid[feature][word];                                       \
            plus[word] = reaches(tile->column[feature] + 64 * word, high) & high_mask & valid; \
            if (is_binary)                                                                     \
                continue;                                                                      \
            uint64_t below = ~(reaches(tile->column[feature] + 64 * word, low) & low_mask);    \
            minus[word] = (below & valid) | (missing & ~valid);                                \
        }                                                                                      \
    }
DEFINE_COMPARE(compare_narrow, narrow, reaches_narrow)
DEFINE_COMPARE(compare_wide, wide, reaches_wide)

static void pack_features(const struct program *program, const struct encoder *encoder,
                          const struct batch *batch, int64_t sample, int count,
                          struct tile *tile, uint64_t *planes)
{
    for (int64_t first = 0; first < encoder->num_features; first += BLOCK) {
        int64_t left = encoder->num_features - first;
        int width = left < BLOCK ? (int)left : BLOCK;
        if (encoder->first_trit[first] == encoder->first_trit[first + width])
            continue;
        memset(tile->valid, 0xFF, sizeof tile->valid);
        for (int row = 0; row < count; row++) {
            quantize(encoder, batch, sample + row, first, width, row, tile);
            if (row % 64 == 63 || row + 1 == count)
                turn(tile, (int)encoder->is_wide, width, row / 64);
        }
        for (int i = 0; i < width; i++)
            for (int64_t trit = encoder->first_trit[first + i];
                 trit < encoder->first_trit[first + i + 1]; trit++)
                (encoder->is_wide ? compare_wide : compare_narrow)(
                    encoder, tile, i, trit, program->planes_per_net == 1, (count + 63) / 64, planes);
    }
}

/* From planes to trits. */

/* One octet for each of 8 or 32 bits. */

static uint64_t spread(uint64_t bits)
{
    uint64_t apart = ((bits & 0xFF) * 0x0101010101010101) & 0x8040201008040201;
    return ((apart + 0x7F7F7F7F7F7F7F7F) >> 7) & 0x0101010101010101;
}

#ifdef __AVX2__
static __m256i spread_32(uint64_t bits)
{
    const __m256i place = _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202,
                                            0x0101010101010101, 0);
    const __m256i mask = _mm256_set1_epi64x((long long)0x8040201008040201);
    __m256i octets = _mm256_shuffle_epi8(_mm256_set1_epi32((int)(uint32_t)bits), place);
    return _mm256_cmpeq_epi8(_mm256_and_si256(octets, mask), mask);
}
#endif

/* Write the trits of 64 outputs, or fewer. */
static void write_trits(uint64_t plus, uint64_t minus, int columns, int8_t *output)
{
    int column = 0;
#ifdef __AVX2__
    for (; column + 32 <= columns; column += 32) {
        __m256i ones = _mm256_and_si256(spread_32(plus >> column), _mm256_set1_epi8(1));
        __m256i trits = _mm256_or_si256(ones, spread_32(minus >> column));
        _mm256_storeu_si256((__m256i *)(output + column), trits);
    }
#endif
    for (; column < columns; column += 8) {
        /* An octet of minus is all ones, which is -1. */
        uint64_t trits = spread(plus >> column) | spread(minus >> column) * 0xFF;
        memcpy(output + column, &trits, columns - column < 8 ? (size_t)(columns - column) : 8);
    }
}

/* Write over the outputs that are scores. */
static void unpack_scores(const struct program *program, const uint64_t *planes, int count,
                          int8_t *outputs)
{
    int64_t width = program->num_outputs;
    for (int64_t output = 0; program->num_scores && output < width; output++) {
        if (program->num_scores[output] < 0)
            continue;
        const uint64_t *plane = planes + (size_t)program->outputs[output] * WORDS;
        for (int row = 0; row < count; row++) {
            int64_t value = program->lowest[output];
            for (int64_t bit = 0; bit < program->num_scores[output]; bit++)
                value += (int64_t)(plane[bit * WORDS + row / 64] >> row % 64 & 1) << bit;
            outputs[row * width + output] = (int8_t)value;
        }
    }
}

static void unpack_trits(const struct program *program, const uint64_t *planes, int count,
                         int8_t *outputs)
{
    int64_t width = program->num_outputs;
    int is_binary = program->planes_per_net == 1;
    for (int64_t first = 0; first < width; first += 64)
        for (int word = 0; 64 * word < count; word++) {
            uint64_t plus[64] = {0}, minus[64] = {0};
            int columns = width - first < 64 ? (int)(width - first) : 64;
            for (int column = 0; column < columns; column++) {
                const uint64_t *plane = planes + (size_t)program->outputs[first + column] * WORDS;
                plus[column] = plane[word];
                minus[column] = is_binary ? ~plane[word] : plane[WORDS + word];
            }
            transpose(plus);
            transpose(minus);
            int rows = count - 64 * word < 64 ? count - 64 * word : 64;
            for (int row = 0; row < rows; row++)
                write_trits(plus[row], minus[row], columns,
                            outputs + (64 * word + row) * width + first);
        }
}

static void unpack_outputs(const struct program *program, const uint64_t *planes, int count,
                           int8_t *outputs)
{
    unpack_trits(program, planes, count, outputs);
    unpack_scores(program, planes, count, outputs);
}

/* From planes to scores of classes: vertical counters, bit k of the sums of 256 samples in one
 * vector.
 *
 * Plus of a trit counts as one, and so does not-minus: the sum is that of the trits plus their
 * number. A bit is single: twice plus is the bit plus one, as if UNKNOWN were FALSE. */

enum { MAX_BITS = 40 };

static void add(vector *sum, vector *carry, vector x, vector y)
{
    vector half = *sum ^ x;
    *carry = (*sum & x) | (half & y);
    *sum = half ^ y;
}

static void count_up(vector counter[MAX_BITS], int bit, vector carry)
{
    for (; bit < MAX_BITS; bit++) {
        vector next = counter[bit] & carry;
        counter[bit] ^= carry;
        carry = next;
        if (!(carry[0] | carry[1] | carry[2] | carry[3]))
            return;
    }
}

/* Harley and Seal: eight planes become one carry of weight eight. */
static void count_planes(const uint32_t *plane, const vector *planes, int64_t first, int64_t last,
                         int is_single, int i, vector counter[MAX_BITS])
{
    vector ones = {0}, twos = {0}, fours = {0}, eights, two_a, two_b, four_a, four_b;
    memset(counter, 0, MAX_BITS * sizeof *counter);
#define PLUS(number) planes[(size_t)plane[first + number] * VECTORS + i]
#define NOT_MINUS(number) ~planes[((size_t)plane[first + number] + 1) * VECTORS + i]
#define ADD_EIGHT(a, b, c, d, e, f, g, h) \
    add(&ones, &two_a, a, b);             \
    add(&ones, &two_b, c, d);             \
    add(&twos, &four_a, two_a, two_b);    \
    add(&ones, &two_a, e, f);             \
    add(&ones, &two_b, g, h);             \
    add(&twos, &four_b, two_a, two_b);    \
    add(&fours, &eights, four_a, four_b); \
    count_up(counter, 3, eights)
    if (is_single) {
        for (; last - first >= 8; first += 8) {
            ADD_EIGHT(PLUS(0), PLUS(1), PLUS(2), PLUS(3), PLUS(4), PLUS(5), PLUS(6), PLUS(7));
        }
    } else {
        for (; last - first >= 4; first += 4) {
            ADD_EIGHT(PLUS(0), NOT_MINUS(0), PLUS(1), NOT_MINUS(1), PLUS(2), NOT_MINUS(2), PLUS(3),
                      NOT_MINUS(3));
        }
    }
    vector rest[8] = {{0}};
    for (int filled = 0; first < last; first++) {
        rest[filled++] = PLUS(0);
        if (!is_single)
            rest[filled++] = NOT_MINUS(0);
    }
    ADD_EIGHT(rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], rest[6], rest[7]);
    counter[0] = ones;
    counter[1] = twos;
    counter[2] = fours;
}

/* Add to the sums how many of some planes are set, or of the planes of some trits, times a power of
 * two. */
static void add_planes(const uint32_t *plane, const uint64_t *planes, int64_t first, int64_t last,
                       int is_single, int shift, int32_t sums[STEP])
{
    int64_t most = (last - first) * (is_single ? 1 : 2);
    int num_bits = 0;
    while (most >> num_bits)
        num_bits++;
    for (int i = 0; i < VECTORS && most; i++) {
        vector counter[MAX_BITS];
        count_planes(plane, (const vector *)planes, first, last, is_single, i, counter);
        for (int part = 0; part < 4; part++) {
            int32_t *sum = sums + 256 * i + 64 * part;
            for (int bit = 0; bit < num_bits; bit++) {
                uint64_t word = counter[bit][part];
                for (int half = 0; half < 2; half++, word >>= 32) {
                    uint32_t bits = (uint32_t)word;
                    for (int sample = 0; sample < 32; sample++)
                        sum[32 * half + sample] += (int32_t)((bits >> sample & 1) << (bit + shift));
                }
            }
        }
    }
}

static void sum_class(const struct head *head, const uint64_t *planes, int64_t class,
                      int32_t sums[STEP])
{
    for (int sample = 0; sample < STEP; sample++)
        sums[sample] = (int32_t)head->base[class];
    for (int part = 0; part < PARTS; part++) {
        const int64_t *first = head->first_plane + PARTS * class + part;
        int shift = part ? part - 1 : 0;
        add_planes(head->planes, planes, first[0], first[1], part > 0, shift, sums);
    }
}

/* The least that a class can have: UNKNOWN as FALSE. */
static void sum_lowest(const struct program *program, const struct head *head,
                       const uint64_t *planes, int64_t class, int32_t sums[STEP])
{
    int64_t first = head->first_output[class], last = head->first_output[class + 1];
    for (int sample = 0; sample < STEP; sample++)
        sums[sample] = (int32_t)(first - last);
    add_planes(program->outputs, planes, first, last, 1, 1, sums);
}

struct decision {
    int32_t best[STEP], second[STEP], chosen[STEP], sums[STEP];
    /* The most that a class can have, the least that the same class can, and the most of others. */
    int32_t most[STEP], least[STEP], others[STEP], lowest[STEP];
};

/* The score is the mean of the least and the most that the class can have. A class that is certain
 * is the one that can have the most. */
static void bound(struct decision *d)
{
    for (int i = 0; i < STEP; i++) {
        int32_t most = 2 * d->sums[i] - d->lowest[i], before = d->most[i];
        int32_t loser = most < before ? most : before;
        d->others[i] = loser > d->others[i] ? loser : d->others[i];
        d->least[i] = most > before ? d->lowest[i] : d->least[i];
        d->most[i] = most > before ? most : before;
    }
}

static void decide(const struct program *program, const struct head *head, const uint64_t *planes,
                   const struct batch *batch, int64_t sample, int count, struct decision *d)
{
    for (int i = 0; i < STEP; i++) {
        d->best[i] = d->second[i] = d->most[i] = d->others[i] = INT32_MIN;
        d->chosen[i] = 0;
    }
    for (int64_t class = 0; class < head->num_classes; class++) {
        sum_class(head, planes, class, d->sums);
        if (batch->certain) {
            sum_lowest(program, head, planes, class, d->lowest);
            bound(d);
        }
        for (int i = 0; i < STEP; i++) {
            int32_t sum = d->sums[i], best = d->best[i], second = d->second[i];
            int32_t loser = sum < best ? sum : best;
            d->second[i] = loser > second ? loser : second;
            d->chosen[i] = sum > best ? (int32_t)class : d->chosen[i];
            d->best[i] = sum > best ? sum : best;
        }
        for (int i = 0; i < count; i++)
            batch->scores[(sample + i) * head->num_classes + class] = d->sums[i];
    }
    for (int i = 0; i < count; i++) {
        batch->chosen[sample + i] = d->chosen[i];
        batch->margin[sample + i] = (int64_t)d->best[i] - d->second[i];
        batch->unknown[sample + i] = batch->margin[sample + i] < head->abstain_margin;
        if (batch->certain)
            batch->certain[sample + i] = d->least[i] > d->others[i];
    }
}

/* All of it. */

struct workspace {
    struct tile tile;
    struct decision decision;
};

int64_t trilut_step(void) { return STEP; }

int64_t trilut_workspace(void) { return sizeof(struct workspace); }

/* Evaluate samples first … last-1 of a batch; return whether all trits were truth values. */
int64_t trilut_run(const struct program *program, const struct encoder *encoder,
                   const struct head *head, const struct batch *batch, int64_t first, int64_t last,
                   uint64_t *planes, struct workspace *workspace)
{
    for (int64_t sample = first; sample < last; sample += STEP) {
        int count = last - sample < STEP ? (int)(last - sample) : STEP;
        if (batch->kind == TRITS) {
            const int8_t *trits = (const int8_t *)batch->samples + sample * batch->num_columns;
            if (!pack_trits(program, trits, count, planes))
                return 0;
        } else {
            pack_features(program, encoder, batch, sample, count, &workspace->tile, planes);
        }
        run_gates(program, planes);
        if (batch->outputs)
            unpack_outputs(program, planes, count, batch->outputs + sample * program->num_outputs);
        if (batch->scores)
            decide(program, head, planes, batch, sample, count, &workspace->decision);
    }
    return 1;
}
