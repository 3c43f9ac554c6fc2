"""The parts of the C that do not depend on the netlist: ``@net@`` and ``@NET@`` are its name.

They keep to C99 without a library: integers of ``stdint.h``, no heap, no static data that changes.
Operators on words narrower than ``int`` are computed as ``int``, hence the casts.
"""

__all__ = [
    "COMPUTE_RUNS",
    "COUNT",
    "DECIDE",
    "DECIDE_LANES",
    "DECIDE_MANY",
    "ENCODE",
    "ENCODE_NOTHING",
    "EVALUATE_LANES",
    "HEADER",
    "LOOK_UP",
    "PROTOTYPE_QUANTIZE",
    "QUANTIZE",
    "SCORE_LANES",
    "SELF_TEST",
    "SUM",
    "TAKE_TRITS",
]

HEADER = """\
#ifndef @NET@_H
#define @NET@_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Samples that are computed at a time, one a bit of a word: 8, 16, 32 or 64. All files that
// include this one must agree.
#ifndef @NET@_LANES
#define @NET@_LANES 64
#endif

#if @NET@_LANES == 64
typedef uint64_t @net@_word;
#elif @NET@_LANES == 32
typedef uint32_t @net@_word;
#elif @NET@_LANES == 16
typedef uint16_t @net@_word;
#elif @NET@_LANES == 8
typedef uint8_t @net@_word;
#else
#error "@NET@_LANES is not 8, 16, 32 or 64"
#endif

@constants@

// @input_meaning@
typedef @value@ @net@_value;

@answer@

// What is computed on: one for each thread; nothing in it has to be set.
typedef struct {
    @net@_word planes[@num_planes@];@digits@
} @net@_workspace;

@prototypes@
#ifdef @NET@_NAMES
@names@
#endif

#ifdef @NET@_SELF_TEST
// Return 0 if random inputs give the answers of the netlist's own evaluator, else 1.
int @net@_self_test(void);
#endif

#ifdef __cplusplus
}
#endif

#endif
"""

PROTOTYPE_QUANTIZE = """\
#ifndef @NET@_NO_FLOAT
// Turn values as the user has them into features; what is not a number is not present.
void @net@_quantize(const double *values, @net@_value *features, uint8_t *present);
#endif

"""

# The thresholds of a trit are compared with the feature of every sample.
ENCODE = """\
static void load(@net@_word *planes, const @net@_value *features, const uint8_t *present,
                 size_t lanes)
{
    for (size_t trit = 0; trit < sizeof input_plane / sizeof input_plane[0]; trit++) {
        @net@_word plus = 0@minus_start@;
        // The last sample is shifted in first.
        for (size_t lane = lanes; lane-- > 0;) {
            const size_t at = lane * @NET@_NUM_FEATURES + input_feature[trit];
            const @net@_value x = features[at];
            const unsigned there = (present == NULL || present[at] != 0)@seen@;
            const unsigned is_plus = there & (x >= input_high[trit]);
            plus = (@net@_word)(plus << 1 | is_plus);@minus@
        }
        planes[input_plane[trit]] = plus;@minus_end@
    }
}
"""

TAKE_TRITS = """\
static void load(@net@_word *planes, const @net@_value *trits, size_t lanes)
{
    for (size_t input = 0; input < sizeof input_plane / sizeof input_plane[0]; input++) {
        @net@_word plus = 0@minus_start@;
        // The last sample is shifted in first.
        for (size_t lane = lanes; lane-- > 0;) {
            const @net@_value x = trits[lane * @NET@_NUM_INPUTS + input_number[input]];
            plus = (@net@_word)(plus << 1 | (x > 0));@minus@
        }
        planes[input_plane[input]] = plus;@minus_end@
    }
}
"""

# The outputs are constants.
ENCODE_NOTHING = """\
static void load(@net@_word *planes, @source@, size_t lanes)
{
    (void)planes;
    (void)@inputs@;@present@
    (void)lanes;
}
"""

COMPUTE_RUNS = """\
static void compute(@net@_word *v)
{
    const @index@ *p = operands;@table@
    for (size_t run = 0; run < sizeof runs / sizeof runs[0]; run++) {
        size_t left = runs[run][1];
        switch (runs[run][0]) {
@cases@
        }
    }
}
"""

# The first input is looked up in pairs of rows, and each other one halves what is left.
LOOK_UP = """\
static @net@_word look_up(const @net@_word *v, const @index@ *p, size_t inputs,
                          const uint32_t *table)
{
    @net@_word rows[32];
    const size_t pairs = (size_t)1 << (inputs - 1);
    for (size_t row = 0; row < pairs; row++) {
        const uint32_t pair = table[row >> 4] >> (2 * row & 31);
        const @net@_word low = pair & 1 ? ~v[p[0]] : 0;
        rows[row] = (@net@_word)(pair & 2 ? low | v[p[0]] : low);
    }
    for (size_t k = 1; k < inputs; k++)
        for (size_t row = 0; row < pairs >> k; row++) {
            const @net@_word low = rows[2 * row], high = rows[2 * row + 1];
            rows[row] = (@net@_word)(low ^ (v[p[k]] & (low ^ high)));
        }
    return rows[0];
}
"""

# Two planes of one weight and the digit of that weight make one plane of the next weight: half as
# many as there are of each weight. Plane k waits where the number k has its lowest 0.
COUNT = """\
static void count_planes(const @net@_word *planes, const @index@ *from, size_t number,
                         @index@ offset, @net@_word *digits)
{
    @net@_word waiting[@NET@_DIGITS];
    for (size_t level = 0; level < @NET@_DIGITS; level++)
        digits[level] = waiting[level] = 0;
    for (size_t k = 0; k < number; k++) {
        @net@_word carry = planes[from[k] + offset];
        size_t level = 0;
        for (; k >> level & 1; level++) {
            const @net@_word one = digits[level], other = waiting[level];
            digits[level] = (@net@_word)(one ^ other ^ carry);
            carry = (@net@_word)((one & other) | (carry & (one ^ other)));
        }
        waiting[level] = carry;
    }
    for (size_t first = 0; number >> first; first++) {
        @net@_word carry = number >> first & 1 ? waiting[first] : 0;
        for (size_t level = first; carry != 0; level++) {
            const @net@_word one = digits[level];
            digits[level] = (@net@_word)(one ^ carry);
            carry = (@net@_word)(carry & one);
        }
    }
}

static int32_t number_of(const @net@_word *digits, size_t lane)
{
    int32_t sum = 0;
    for (size_t level = 0; level < @NET@_DIGITS; level++)
        sum += (int32_t)(digits[level] >> lane & 1) << level;
    return sum;
}
"""

# Of one sample alone.
SUM = """\
static int32_t sum(const @net@_word *planes, const @index@ *from, size_t number, @index@ offset)
{
    int32_t result = 0;
    for (size_t k = 0; k < number; k++)
        result += (int32_t)(planes[from[k] + offset] & 1);
    return result;
}
"""

DECIDE_MANY = """
void @net@_decide_many(@net@_workspace *work, @source@, size_t count, @net@_decision *decisions)
{
    for (size_t first = 0; first < count; first += @NET@_LANES) {
        const size_t lanes = count - first < @NET@_LANES ? count - first : @NET@_LANES;
        decide_lanes(work, @inputs_from_first@, lanes, decisions + first);
    }
}
"""

DECIDE = """\
static void decide(@votes@, @net@_decision *decision)
{
    int32_t best = @first_score@, second = INT32_MIN;
    decision->chosen = 0;
    decision->scores[0] = best;
    for (int32_t c = 1; c < @NET@_NUM_CLASSES; c++) {
        const int32_t score = @score@;
        decision->scores[c] = score;
        if (score > best) {
            second = best;
            best = score;
            decision->chosen = c;
        } else if (score > second) {
            second = score;
        }
    }
    decision->margin = best - second;
    decision->unknown = decision->margin < @abstain_margin@;@certain@@members@
}
"""

DECIDE_LANES = """\
void @net@_decide(@net@_workspace *work, @source@, @net@_decision *decision)
{
    int32_t plus[@NET@_NUM_CLASSES], minus[@NET@_NUM_CLASSES];
    load(work->planes, @inputs@, 1);
    compute(work->planes);
    for (size_t c = 0; c < @NET@_NUM_CLASSES; c++) {
        const @index@ *from = output_plane + first_output[c];
        const size_t size = first_output[c + 1] - first_output[c];
        plus[c] = sum(work->planes, from, size, 0);
        minus[c] = @minus_sum@;
    }
    decide(plus, minus, decision);
}

static void decide_lanes(@net@_workspace *work, @source@, size_t lanes, @net@_decision *decisions)
{
    load(work->planes, @inputs@, lanes);
    compute(work->planes);
    for (size_t c = 0; c < @NET@_NUM_CLASSES; c++) {
        const @index@ *from = output_plane + first_output[c];
        const size_t size = first_output[c + 1] - first_output[c];
        count_planes(work->planes, from, size, 0, work->digits[c][0]);@minus_count@
    }
    for (size_t lane = 0; lane < lanes; lane++) {
        int32_t plus[@NET@_NUM_CLASSES], minus[@NET@_NUM_CLASSES];
        for (size_t c = 0; c < @NET@_NUM_CLASSES; c++) {
            plus[c] = number_of(work->digits[c][0], lane);
            minus[c] = @minus_number@;
        }
        decide(plus, minus, decisions + lane);
    }
}
@many@"""

# A score is a number of several planes; those of one class and one weight are a term.
SCORE_LANES = """\
void @net@_decide(@net@_workspace *work, @source@, @net@_decision *decision)
{
    int32_t sums[@NET@_NUM_CLASSES];
    load(work->planes, @inputs@, 1);
    compute(work->planes);
    for (size_t c = 0; c < @NET@_NUM_CLASSES; c++)
        sums[c] = class_base[c];
    for (size_t t = 0; t < @NET@_NUM_TERMS; t++) {
        const @index@ *from = term_plane + term_first[t];
        const size_t size = term_first[t + 1] - term_first[t];
        sums[term_class[t]] += term_weight[t] * sum(work->planes, from, size, 0);
    }
    decide(sums, decision);
}

static void decide_lanes(@net@_workspace *work, @source@, size_t lanes, @net@_decision *decisions)
{
    load(work->planes, @inputs@, lanes);
    compute(work->planes);
    for (size_t t = 0; t < @NET@_NUM_TERMS; t++) {
        const size_t size = term_first[t + 1] - term_first[t];
        count_planes(work->planes, term_plane + term_first[t], size, 0, work->digits[t]);
    }
    for (size_t lane = 0; lane < lanes; lane++) {
        int32_t sums[@NET@_NUM_CLASSES];
        for (size_t c = 0; c < @NET@_NUM_CLASSES; c++)
            sums[c] = class_base[c];
        for (size_t t = 0; t < @NET@_NUM_TERMS; t++)
            sums[term_class[t]] += term_weight[t] * number_of(work->digits[t], lane);
        decide(sums, decisions + lane);
    }
}
@many@"""

EVALUATE_LANES = """\
static void evaluate_lanes(@net@_workspace *work, @source@, size_t lanes, int8_t *outputs)
{
    load(work->planes, @inputs@, lanes);
    compute(work->planes);
    for (size_t lane = 0; lane < lanes; lane++)
        for (size_t output = 0; output < @NET@_NUM_OUTPUTS; output++) {
            const @net@_word *planes = work->planes + output_plane[output];
            const int plus = (int)(planes[0] >> lane & 1);
            outputs[lane * @NET@_NUM_OUTPUTS + output] = (int8_t)(@output@);
        }
}

void @net@_evaluate(@net@_workspace *work, @source@, int8_t *outputs)
{
    evaluate_lanes(work, @inputs@, 1, outputs);
}

void @net@_evaluate_many(@net@_workspace *work, @source@, size_t count, int8_t *outputs)
{
    for (size_t first = 0; first < count; first += @NET@_LANES) {
        const size_t lanes = count - first < @NET@_LANES ? count - first : @NET@_LANES;
        evaluate_lanes(work, @inputs_from_first@, lanes, outputs + first * @NET@_NUM_OUTPUTS);
    }
}
"""

# The product goes through memory, so that no compiler makes one rounding of two.
QUANTIZE = """\
#ifndef @NET@_NO_FLOAT
static const struct {
    double scale, offset, least, most;
    @net@_value minimum, maximum;
} feature_of[@NET@_NUM_FEATURES] = {
@rows@
};

void @net@_quantize(const double *values, @net@_value *features, uint8_t *present)
{
    for (size_t f = 0; f < @NET@_NUM_FEATURES; f++) {
        const volatile double product = values[f] * feature_of[f].scale;
        double x = product + feature_of[f].offset;
        x = x > @largest@ ? @largest@ : x < -@largest@ ? -@largest@ : x;
        // Larger numbers have no fraction.
        if (x > -4503599627370496.0 && x < 4503599627370496.0) {
            const double whole = (double)(int64_t)x;
            x = whole > x ? whole - 1.0 : whole;
        }
        // Neither holds for what is not a number.
        present[f] = x >= feature_of[f].least && x <= feature_of[f].most;
        if (!present[f])
            features[f] = 0;
        else if (x <= (double)feature_of[f].minimum)
            features[f] = feature_of[f].minimum;
        else if (x >= (double)feature_of[f].maximum)
            features[f] = feature_of[f].maximum;
        else
            features[f] = (@net@_value)x;
    }
}
#endif
"""

SELF_TEST = """\
#ifdef @NET@_SELF_TEST
@tables@static uint32_t draw(uint32_t *state)
{
    *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
    return *state;
}

static uint32_t mixed(uint32_t hash, int32_t value)
{
    return (hash ^ (uint32_t)value) * UINT32_C(16777619);
}

static uint32_t mixed_answer(uint32_t hash, const @answer_type@ *answer)
{
@mix@
    return hash;
}

int @net@_self_test(void)
{
    static @net@_workspace work;
    static @net@_value inputs[@num_samples@][@NUM_INPUTS@];@present_array@
    static @answer_type@ answers[@num_samples@][@per_sample@];
    static @answer_type@ alone[@per_sample@];
    uint32_t state = 0, hash = UINT32_C(2166136261), hash_alone = UINT32_C(2166136261);
    for (size_t sample = 0; sample < @num_samples@; sample++)
        for (size_t i = 0; i < @NUM_INPUTS@; i++) {
@draws@
        }
    @net@_@verb@_many(&work, @all_inputs@, @num_samples@, answers[0]);
    for (size_t sample = 0; sample < @num_samples@; sample++) {
        hash = mixed_answer(hash, answers[sample]);
        @net@_@verb@(&work, @one_input@, alone);
        hash_alone = mixed_answer(hash_alone, alone);
    }
    return hash != UINT32_C(@expected@) || hash_alone != UINT32_C(@expected@);
}

#ifdef @NET@_MAIN
int main(void)
{
    return @net@_self_test();
}
#endif
#endif
"""
