/* One step of the recipe 'hard' with everything fused: forward, backward, Adam. */
#include <math.h>
#include <string.h>

/* From a table [row of a][row of b] to the coefficients of 1, b, b², a, …, and back for gradients. */
static const float LEVELS[3][3] = {{0, 1, 0}, {-.5f, 0, .5f}, {.5f, -1, .5f}};

static float to_trit(float x) { return (float)((x > .5f) - (x < -.5f)); }

static void coefficients(const float *table, float *w)
{
    for (int i = 0; i < 9; i++) {
        w[i] = 0;
        for (int row = 0; row < 9; row++)
            w[i] += LEVELS[i / 3][row / 3] * LEVELS[i % 3][row % 3] * to_trit(table[row]);
    }
}

static void forward(const float *w, const float *x, const float *y, float *out, int batch)
{
    for (int n = 0; n < batch; n++) {
        float a = x[n], b = y[n];
        out[n] = w[0] + b * (w[1] + b * w[2]) + a * (w[3] + b * (w[4] + b * w[5]))
            + a * a * (w[6] + b * (w[7] + b * w[8]));
    }
}

static void backward(const float *w, const float *x, const float *y, const float *gradient,
                     float *to_x, float *to_y, float *sums, int batch)
{
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, s8 = 0;
    for (int n = 0; n < batch; n++) {
        float a = x[n], b = y[n], g = gradient[n], ga = g * a, gaa = ga * a;
        s0 += g;   s1 += g * b;   s2 += g * b * b;
        s3 += ga;  s4 += ga * b;  s5 += ga * b * b;
        s6 += gaa; s7 += gaa * b; s8 += gaa * b * b;
    }
    float all[9] = {s0, s1, s2, s3, s4, s5, s6, s7, s8};
    memcpy(sums, all, sizeof all);
    if (!to_x)
        return;
    for (int n = 0; n < batch; n++)
        to_x[n] += gradient[n] * (w[3] + y[n] * (w[4] + y[n] * w[5]));
    for (int n = 0; n < batch; n++)
        to_y[n] += gradient[n] * (w[1] + x[n] * (w[4] + x[n] * w[7]));
}

static void adam(float *table, float *mean, float *square, const float *sums, float rate, int step)
{
    float fix1 = 1 / (1 - powf(.9f, step)), fix2 = 1 / (1 - powf(.999f, step));
    for (int row = 0; row < 9; row++) {
        float g = 0;
        for (int i = 0; i < 9; i++)
            g += LEVELS[i / 3][row / 3] * LEVELS[i % 3][row % 3] * sums[i];
        mean[row] = .9f * mean[row] + .1f * g;
        square[row] = .999f * square[row] + .001f * g * g;
        table[row] -= rate * mean[row] * fix1 / (sqrtf(square[row] * fix2) + 1e-8f);
        table[row] = fminf(1, fmaxf(-1, table[row]));
    }
}

/* The gradient of the mean cross-entropy to the scores [class][sample], in their place. */
static void loss_gradient(float *scores, const int *labels, int classes, int batch, float tau)
{
    for (int n = 0; n < batch; n++) {
        float largest = -INFINITY, total = 0;
        for (int c = 0; c < classes; c++)
            largest = fmaxf(largest, scores[c * batch + n]);
        for (int c = 0; c < classes; c++)
            total += scores[c * batch + n] = expf((scores[c * batch + n] - largest) / tau);
        for (int c = 0; c < classes; c++)
            scores[c * batch + n] = (scores[c * batch + n] / total - (c == labels[n])) / tau / batch;
    }
}

/* Nets are the inputs, then the gates layer by layer; values and gradients are [net][sample]. */
void step(int layers, int width, int inputs, int batch, int classes, float tau, float rate, int count,
          const int *a, const int *b, float *tables, float *means, float *squares, float *values,
          float *gradients, float *scores, float *kept_scores, const int *labels)
{
    int gates = layers * width;
    float w[9], sums[9];
    for (int gate = 0; gate < gates; gate++) {
        coefficients(tables + 9 * gate, w);
        forward(w, values + (long)a[gate] * batch, values + (long)b[gate] * batch,
                values + (long)(inputs + gate) * batch, batch);
    }
    memset(scores, 0, sizeof(float) * classes * batch);
    for (int gate = gates - width; gate < gates; gate++)
        for (int n = 0; n < batch; n++)
            scores[gate % width % classes * batch + n] += values[(long)(inputs + gate) * batch + n];
    memcpy(kept_scores, scores, sizeof(float) * classes * batch);
    loss_gradient(scores, labels, classes, batch, tau);
    memset(gradients, 0, sizeof(float) * (inputs + gates) * batch);
    for (int gate = gates - 1; gate >= 0; gate--) {
        const float *own = gate >= gates - width ? scores + gate % width % classes * batch
                                                 : gradients + (long)(inputs + gate) * batch;
        coefficients(tables + 9 * gate, w);
        backward(w, values + (long)a[gate] * batch, values + (long)b[gate] * batch, own,
                 gate < width ? 0 : gradients + (long)a[gate] * batch,
                 gradients + (long)b[gate] * batch, sums, batch);
        adam(tables + 9 * gate, means + 9 * gate, squares + 9 * gate, sums, rate, count);
    }
}
