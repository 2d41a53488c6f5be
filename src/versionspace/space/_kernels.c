/* Compiled kernels of versionspace.space: the loops for which profiling showed NumPy to be slow.
 *
 *   votes           argmax and validation of probability rows, in one pass
 *   member_sums     sums of probabilities over members, in member order
 *   row_sums        sums of rows, in the order of their columns
 *   subspaces       the distinct sub-spaces V_x^y into which the votes on a pool split the members
 *   mistakes        for each sub-space, how often its members differ from their own soft majority vote
 *   hard_mistakes   the same for the hard majority vote
 *
 * kernels.py calls these functions if they were compiled, and kernels_numpy.py otherwise, with equal results. The
 * caller passes contiguous, validated buffers. The loops create no Python objects and run without the GIL, so the
 * caller can process ranges of the same arrays on several threads.
 *
 * A sub-space is a mask of M bits in W = ceil(M / 64) words. Member m is bit 63 - m % 64 of word m / 64. Sorting
 * masks as numbers then sorts them as lists of members, and neighbouring lists share a prefix.
 */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if !defined(__GNUC__)
#error "GCC or Clang vector extensions are required; without this module versionspace falls back to NumPy"
#endif

#define INLINE static inline __attribute__((always_inline))

/* Compiles one body for several instruction sets and selects one at run time. Only element-wise IEEE additions and
 * comparisons are vectorised, so all versions return bitwise equal results. */
#if defined(__x86_64__)
#define VERSIONS(name, parameters, arguments)                                                          \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512vpopcntdq,popcnt"))) static void name##_512 parameters      \
    { name##_body arguments; }                                                                         \
    __attribute__((target("avx2,popcnt"))) static void name##_256 parameters { name##_body arguments; } \
    static void name##_base parameters { name##_body arguments; }                                      \
    static void name parameters                                                                        \
    {                                                                                                  \
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&                 \
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vpopcntdq"))                                                        \
            name##_512 arguments;                                                                      \
        else if (__builtin_cpu_supports("avx2"))                                                       \
            name##_256 arguments;                                                                      \
        else                                                                                           \
            name##_base arguments;                                                                     \
    }
#else
#define VERSIONS(name, parameters, arguments) \
    static void name parameters { name##_body arguments; }
#endif

/* ------------------------------------------------------------------------------------------------ votes */

/* Sets *bad to the first row that is not a probability vector and stops there; leaves it unchanged if there is none.
 * Numbers may be below 0 by the tolerance; *negative is then set. NaN and infinity fail the check of the sum, which is
 * in double. The lowest class wins a tie. Rows of many classes are read eight classes at a time; each lane keeps its
 * own maximum and the first class that reaches it. */
#define WIDE 8
typedef float Floats8 __attribute__((vector_size(WIDE * sizeof(float))));
typedef double Doubles8 __attribute__((vector_size(WIDE * sizeof(double))));
typedef int32_t Ints8 __attribute__((vector_size(WIDE * sizeof(int32_t))));
typedef int64_t Longs8 __attribute__((vector_size(WIDE * sizeof(int64_t))));

#define VOTES_BODY(suffix, real, Vector, Index)                                                             \
    INLINE uint32_t row_##suffix(const real *p, Py_ssize_t classes, double *total, real *least)             \
    {                                                                                                       \
        real best = p[0], low = p[0];                                                                       \
        double sum = p[0];                                                                                  \
        Py_ssize_t arg = 0, c = 1;                                                                          \
        if (classes >= 2 * WIDE) {                                                                          \
            Vector bests, lows, now;                                                                        \
            memcpy(&bests, p, sizeof bests);                                                                \
            Doubles8 sums = __builtin_convertvector(bests, Doubles8);                                       \
            Index args = {0}, step = {0};                                                                   \
            lows = bests;                                                                                   \
            for (c = WIDE; c + WIDE <= classes; c += WIDE) {                                                \
                memcpy(&now, p + c, sizeof now);                                                            \
                sums += __builtin_convertvector(now, Doubles8);                                             \
                step += 1;                                                                                  \
                Index more = now > bests, less = now < lows;                                                \
                bests = (Vector)((more & (Index)now) | (~more & (Index)bests));                             \
                lows = (Vector)((less & (Index)now) | (~less & (Index)lows));                               \
                args = (more & step) | (~more & args);                                                      \
            }                                                                                               \
            best = bests[0];                                                                                \
            sum = sums[0];                                                                                  \
            low = lows[0];                                                                                  \
            arg = (Py_ssize_t)args[0] * WIDE;                                                               \
            for (int lane = 1; lane < WIDE; lane++) {                                                       \
                Py_ssize_t at = (Py_ssize_t)args[lane] * WIDE + lane;                                       \
                if (bests[lane] > best || (bests[lane] == best && at < arg)) {                              \
                    best = bests[lane];                                                                     \
                    arg = at;                                                                               \
                }                                                                                           \
                low = lows[lane] < low ? lows[lane] : low;                                                  \
                sum += sums[lane];                                                                          \
            }                                                                                               \
        }                                                                                                   \
        for (; c < classes; c++) {                                                                          \
            real v = p[c];                                                                                  \
            sum += v;                                                                                       \
            arg = v > best ? c : arg;                                                                       \
            best = v > best ? v : best;                                                                     \
            low = v < low ? v : low;                                                                        \
        }                                                                                                   \
        *total = sum;                                                                                       \
        *least = low;                                                                                       \
        return (uint32_t)arg;                                                                               \
    }                                                                                                       \
    INLINE void votes_##suffix##_body(const real *probs, Py_ssize_t rows, Py_ssize_t classes, double tolerance, \
                                      uint32_t *out, Py_ssize_t *bad, int *negative)                        \
    {                                                                                                       \
        for (Py_ssize_t r = 0; r < rows; r++) {                                                             \
            double sum;                                                                                     \
            real low;                                                                                       \
            out[r] = row_##suffix(probs + r * classes, classes, &sum, &low);                                \
            *negative |= low < 0;                                                                           \
            if (!((double)low >= -tolerance && fabs(sum - 1.0) <= tolerance)) {                             \
                *bad = r;                                                                                   \
                return;                                                                                     \
            }                                                                                               \
        }                                                                                                   \
    }                                                                                                       \
    VERSIONS(votes_##suffix,                                                                                \
             (const real *probs, Py_ssize_t rows, Py_ssize_t classes, double tolerance, uint32_t *out,      \
              Py_ssize_t *bad, int *negative),                                                              \
             (probs, rows, classes, tolerance, out, bad, negative))

VOTES_BODY(f4, float, Floats8, Ints8)
VOTES_BODY(f8, double, Doubles8, Longs8)

static PyObject *py_votes(PyObject *self, PyObject *args)
{
    Py_buffer probs, out;
    Py_ssize_t classes, bad = -1;
    double tolerance;
    int is_double, negative = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*npdw*", &probs, &classes, &is_double, &tolerance, &out))
        return NULL;
    Py_ssize_t rows = out.len / (Py_ssize_t)sizeof(uint32_t);
    Py_BEGIN_ALLOW_THREADS
    if (is_double)
        votes_f8(probs.buf, rows, classes, tolerance, out.buf, &bad, &negative);
    else
        votes_f4(probs.buf, rows, classes, tolerance, out.buf, &bad, &negative);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&probs);
    PyBuffer_Release(&out);
    return Py_BuildValue("(nN)", bad, PyBool_FromLong(negative));
}

/* ----------------------------------------------------------------------------------------- member sums */

#define PART 1024 /* sums kept in the cache while the members are added */

/* out[i] = sum over members m, in order, of probs[m * stride + from + i]. */
#define SUMS_BODY(suffix, real)                                                                             \
    INLINE void sums_##suffix##_body(const real *probs, Py_ssize_t members, Py_ssize_t stride, Py_ssize_t from, \
                                     Py_ssize_t count, double *out)                                         \
    {                                                                                                       \
        for (Py_ssize_t i = 0; i < count; i += PART) {                                                      \
            Py_ssize_t size = count - i < PART ? count - i : PART;                                          \
            const real *p = probs + from + i;                                                               \
            double *sum = out + i;                                                                          \
            for (Py_ssize_t j = 0; j < size; j++)                                                           \
                sum[j] = (double)p[j];                                                                      \
            for (Py_ssize_t m = 1; m < members; m++) {                                                      \
                p += stride;                                                                                \
                for (Py_ssize_t j = 0; j < size; j++)                                                       \
                    sum[j] += (double)p[j];                                                                 \
            }                                                                                               \
        }                                                                                                   \
    }                                                                                                       \
    VERSIONS(sums_##suffix,                                                                                 \
             (const real *probs, Py_ssize_t members, Py_ssize_t stride, Py_ssize_t from, Py_ssize_t count,  \
              double *out),                                                                                 \
             (probs, members, stride, from, count, out))

SUMS_BODY(f4, float)
SUMS_BODY(f8, double)

static PyObject *py_member_sums(PyObject *self, PyObject *args)
{
    Py_buffer probs, out;
    Py_ssize_t members, stride, from;
    int is_double;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*pnnnw*", &probs, &is_double, &members, &stride, &from, &out))
        return NULL;
    Py_ssize_t count = out.len / (Py_ssize_t)sizeof(double);
    Py_BEGIN_ALLOW_THREADS
    if (is_double)
        sums_f8(probs.buf, members, stride, from, count, out.buf);
    else
        sums_f4(probs.buf, members, stride, from, count, out.buf);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&probs);
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

/* -------------------------------------------------------------------------------------------- row sums */

/* Sums each row in the order of its columns; eight rows at a time, because each addition waits for the one before. */
static void row_sums(const double *terms, Py_ssize_t rows, Py_ssize_t columns, double *out)
{
    Py_ssize_t r = 0;
    for (; r + WIDE <= rows; r += WIDE) {
        const double *t = terms + r * columns;
        double sum[WIDE];
        for (int i = 0; i < WIDE; i++)
            sum[i] = t[i * columns];
        for (Py_ssize_t c = 1; c < columns; c++)
            for (int i = 0; i < WIDE; i++)
                sum[i] += t[i * columns + c];
        memcpy(out + r, sum, sizeof sum);
    }
    for (; r < rows; r++) {
        out[r] = terms[r * columns];
        for (Py_ssize_t c = 1; c < columns; c++)
            out[r] += terms[r * columns + c];
    }
}

static PyObject *py_row_sums(PyObject *self, PyObject *args)
{
    Py_buffer terms, out;
    Py_ssize_t columns;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*nw*", &terms, &columns, &out))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    row_sums(terms.buf, out.len / (Py_ssize_t)sizeof(double), columns, out.buf);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&terms);
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

/* -------------------------------------------------------------------------------------------- subspaces */

typedef struct {
    uint64_t *masks; /* count x words, in order of first appearance */
    int32_t *slots;  /* open addressing: index into masks, or -1 */
    Py_ssize_t count, room, capacity, words;
} Table;

INLINE uint64_t hash_words(const uint64_t *mask, Py_ssize_t words)
{
    uint64_t h = 0;
    for (Py_ssize_t w = 0; w < words; w++) {
        h = (h ^ mask[w]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
        h *= 0xBF58476D1CE4E5B9u;
        h ^= h >> 32;
    }
    return h;
}

INLINE int same_words(const uint64_t *a, const uint64_t *b, Py_ssize_t words)
{
    for (Py_ssize_t w = 0; w < words; w++)
        if (a[w] != b[w])
            return 0;
    return 1;
}

static int table_grow(Table *t)
{
    Py_ssize_t capacity = t->capacity ? t->capacity * 2 : 4096;
    int32_t *slots = malloc((size_t)capacity * sizeof *slots);
    if (!slots)
        return -1;
    memset(slots, 0xff, (size_t)capacity * sizeof *slots);
    for (Py_ssize_t i = 0; i < t->count; i++) {
        uint64_t at = hash_words(t->masks + i * t->words, t->words) & (uint64_t)(capacity - 1);
        while (slots[at] >= 0)
            at = (at + 1) & (uint64_t)(capacity - 1);
        slots[at] = (int32_t)i;
    }
    free(t->slots);
    t->slots = slots;
    t->capacity = capacity;
    return 0;
}

/* Returns the index of the mask, which is appended if it is new; -1 if out of memory. */
INLINE int32_t table_find(Table *t, const uint64_t *mask)
{
    if (2 * (t->count + 1) > t->capacity && table_grow(t))
        return -1;
    uint64_t at = hash_words(mask, t->words) & (uint64_t)(t->capacity - 1);
    while (t->slots[at] >= 0) {
        if (same_words(t->masks + t->slots[at] * t->words, mask, t->words))
            return t->slots[at];
        at = (at + 1) & (uint64_t)(t->capacity - 1);
    }
    if (t->count == INT32_MAX)
        return -1;
    if (t->count == t->room) {
        Py_ssize_t room = t->room ? t->room * 2 : 1024;
        uint64_t *masks = realloc(t->masks, (size_t)(room * t->words) * sizeof *masks);
        if (!masks)
            return -1;
        t->masks = masks;
        t->room = room;
    }
    memcpy(t->masks + t->count * t->words, mask, (size_t)t->words * sizeof *mask);
    t->slots[at] = (int32_t)t->count;
    return (int32_t)t->count++;
}

#define BLOCK 512 /* images transposed at once, so that the votes on an image are contiguous */

INLINE uint32_t vote_at(const void *votes, int itemsize, Py_ssize_t i)
{
    return itemsize == 1 ? ((const uint8_t *)votes)[i]
                         : itemsize == 2 ? ((const uint16_t *)votes)[i] : ((const uint32_t *)votes)[i];
}

/* Fills starts (images + 1) and *index, which grows: the sub-spaces of image n are index[starts[n]:starts[n + 1]],
 * ordered by their first members. Returns -1 if out of memory. */
static int subspaces(const void *votes, int itemsize, Py_ssize_t members, Py_ssize_t images, Table *table,
                     int64_t *starts, int32_t **index)
{
    Py_ssize_t words = table->words, room = images + images / 2 + 64, used = 0;
    uint32_t *block = malloc((size_t)(BLOCK * members) * sizeof *block);
    uint32_t *seen = malloc((size_t)members * sizeof *seen);
    uint64_t *masks = malloc((size_t)(members * words) * sizeof *masks);
    int failed = !block || !seen || !masks || !(*index = malloc((size_t)room * sizeof **index));
    for (Py_ssize_t from = 0; from < images && !failed; from += BLOCK) {
        Py_ssize_t size = images - from < BLOCK ? images - from : BLOCK;
        for (Py_ssize_t m = 0; m < members; m++)
            for (Py_ssize_t i = 0; i < size; i++)
                block[i * members + m] = vote_at(votes, itemsize, m * images + from + i);
        for (Py_ssize_t i = 0; i < size && !failed; i++) {
            const uint32_t *vote = block + i * members;
            Py_ssize_t distinct = 0;
            for (Py_ssize_t m = 0; m < members; m++) {
                Py_ssize_t d = 0;
                while (d < distinct && seen[d] != vote[m])
                    d++;
                if (d == distinct) {
                    seen[distinct++] = vote[m];
                    memset(masks + d * words, 0, (size_t)words * sizeof *masks);
                }
                masks[d * words + m / 64] |= (uint64_t)1 << (63 - m % 64);
            }
            if (used + distinct > room) {
                room += room / 2 + distinct;
                int32_t *grown = realloc(*index, (size_t)room * sizeof **index);
                if (!grown) {
                    failed = 1;
                    break;
                }
                *index = grown;
            }
            starts[from + i] = used;
            for (Py_ssize_t d = 0; d < distinct; d++) {
                int32_t found = table_find(table, masks + d * words);
                failed |= found < 0;
                (*index)[used++] = found;
            }
        }
    }
    starts[images] = used;
    free(block);
    free(seen);
    free(masks);
    return failed ? -1 : 0;
}

static PyObject *py_subspaces(PyObject *self, PyObject *args)
{
    Py_buffer votes;
    Py_ssize_t members, images;
    int itemsize, failed;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*inn", &votes, &itemsize, &members, &images))
        return NULL;
    Table table = {.words = (members + 63) / 64};
    int32_t *index = NULL;
    int64_t *starts = malloc((size_t)(images + 1) * sizeof *starts);
    PyObject *result = NULL;
    if (starts) {
        Py_BEGIN_ALLOW_THREADS
        failed = subspaces(votes.buf, itemsize, members, images, &table, starts, &index);
        Py_END_ALLOW_THREADS
        if (!failed)
            result = Py_BuildValue("(y#y#y#)", (char *)table.masks,
                                   table.count * table.words * (Py_ssize_t)sizeof(uint64_t), (char *)starts,
                                   (images + 1) * (Py_ssize_t)sizeof(int64_t), (char *)index,
                                   (Py_ssize_t)(starts[images] * (int64_t)sizeof(int32_t)));
    }
    free(starts);
    free(index);
    free(table.masks);
    free(table.slots);
    PyBuffer_Release(&votes);
    if (!result && !PyErr_Occurred())
        PyErr_NoMemory();
    return result;
}

/* --------------------------------------------------------------------------------------------- mistakes */

#define LANES 8 /* reference images processed together */
typedef double Reals __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t Flags __attribute__((vector_size(LANES * sizeof(int64_t))));

INLINE Flags choose(Flags test, Flags yes, Flags no) { return (test & yes) | (~test & no); }

/* One block of LANES reference images: the members' probabilities and votes. */
typedef struct {
    Reals *probs;     /* members x classes */
    Flags *voters;    /* words x classes: mask of the members that vote for the class */
    Flags *votes;     /* members */
    Reals *sums;      /* (members + 1) x classes: row l sums the first l members of the current list */
} Block;

/* The sub-spaces, sorted: concatenated lists of members, and the length of the prefix shared with the list before. */
typedef struct {
    const uint64_t *masks;
    const int32_t *members, *shared;
    const int64_t *starts;
    Py_ssize_t count, words;
} Lists;

/* Extends the sums over the shared prefix of a list by the members that follow it. */
INLINE void extend(const Block *block, const int32_t *list, Py_ssize_t shared, Py_ssize_t size, Py_ssize_t classes)
{
    for (Py_ssize_t l = shared; l < size; l++) {
        const Reals *before = block->sums + l * classes, *more = block->probs + list[l] * classes;
        Reals *after = block->sums + (l + 1) * classes;
        for (Py_ssize_t c = 0; c < classes; c++)
            after[c] = before[c] + more[c];
    }
}

/* The search for the largest sum also selects the voters of that class, which avoids a lookup per lane. The lowest
 * class wins a tie. Masks of several words are processed one word at a time. */
INLINE void mistakes_body(const Lists *lists, const Block *block, Py_ssize_t classes, int64_t *out)
{
    Py_ssize_t words = lists->words;
    for (Py_ssize_t k = 0; k < lists->count; k++) {
        const int32_t *list = lists->members + lists->starts[k];
        Py_ssize_t size = (Py_ssize_t)(lists->starts[k + 1] - lists->starts[k]);
        extend(block, list, lists->shared[k], size, classes);
        const Reals *sums = block->sums + size * classes;
        int64_t agreeing = 0;
        for (Py_ssize_t w = 0; w < words; w++) {
            const Flags *voters = block->voters + w * classes;
            Reals best = sums[0];
            Flags behind = voters[0];
            for (Py_ssize_t c = 1; c < classes; c++) {
                Flags more = sums[c] > best;
                best = (Reals)choose(more, (Flags)sums[c], (Flags)best);
                behind = choose(more, voters[c], behind);
            }
            uint64_t mask = lists->masks[k * words + w];
            for (int lane = 0; lane < LANES; lane++)
                agreeing += __builtin_popcountll(mask & (uint64_t)behind[lane]);
        }
        out[k] += (int64_t)size * LANES - agreeing;
    }
}

VERSIONS(mistakes, (const Lists *lists, const Block *block, Py_ssize_t classes, int64_t *out),
         (lists, block, classes, out))

/* Returns the vote of the other members in one lane, summed in member order. */
static int64_t vote_without(const Block *block, const int32_t *list, Py_ssize_t size, Py_ssize_t left_out, int lane,
                            Py_ssize_t classes)
{
    double best = 0;
    int64_t arg = 0;
    for (Py_ssize_t c = 0; c < classes; c++) {
        double sum = 0;
        for (Py_ssize_t l = 0; l < size; l++)
            if (l != left_out)
                sum += block->probs[list[l] * classes + c][lane];
        if (c == 0 || sum > best) {
            best = sum;
            arg = c;
        }
    }
    return arg;
}

/* As mistakes, with each member compared to the vote of the others. The sum over the others is the total minus the
 * member's own probability, which may differ by rounding from the sum in member order: if the two best classes are
 * closer than that, the sum is recomputed in order. */
INLINE void mistakes_loo_body(const Lists *lists, const Block *block, Py_ssize_t classes, int64_t *out)
{
    for (Py_ssize_t k = 0; k < lists->count; k++) {
        const int32_t *list = lists->members + lists->starts[k];
        Py_ssize_t size = (Py_ssize_t)(lists->starts[k + 1] - lists->starts[k]);
        extend(block, list, lists->shared[k], size, classes);
        if (size < 2)
            continue;
        const Reals *whole = block->sums + size * classes;
        double slack = 4.0 * (double)size * (double)size * 0x1p-52;
        for (Py_ssize_t l = 0; l < size; l++) {
            const Reals *own = block->probs + list[l] * classes;
            Reals best = whole[0] - own[0], second = {0};
            Flags arg = {0};
            second -= 1.0;
            for (Py_ssize_t c = 1; c < classes; c++) {
                Reals rest = whole[c] - own[c];
                Flags more = rest > best, next = rest > second, number = {0};
                number += (int64_t)c;
                second = (Reals)choose(more, (Flags)best, choose(next, (Flags)rest, (Flags)second));
                best = (Reals)choose(more, (Flags)rest, (Flags)best);
                arg = choose(more, number, arg);
            }
            Flags vote = block->votes[list[l]];
            for (int lane = 0; lane < LANES; lane++) {
                int64_t others = arg[lane];
                if (best[lane] - second[lane] <= slack && vote[lane] >= 0)
                    others = vote_without(block, list, size, l, lane, classes);
                out[k] += vote[lane] >= 0 && others != vote[lane];
            }
        }
    }
}

VERSIONS(mistakes_loo, (const Lists *lists, const Block *block, Py_ssize_t classes, int64_t *out),
         (lists, block, classes, out))

/* Copies reference images [from, from + LANES) into the block. In lanes past the end `to`, every member counts as a
 * voter for every class, so that such a lane adds no mistakes; their votes are -1. */
static void fill(Block *block, const void *probs, int is_double, const int32_t *votes, Py_ssize_t members,
                 Py_ssize_t images, Py_ssize_t classes, Py_ssize_t words, Py_ssize_t from, Py_ssize_t to)
{
    memset(block->voters, 0, (size_t)(words * classes) * sizeof(Flags));
    for (Py_ssize_t lane = 0; lane < LANES; lane++) {
        Py_ssize_t t = from + lane;
        for (Py_ssize_t m = 0; m < members; m++) {
            int32_t vote = t < to ? votes[m * images + t] : -1;
            int64_t bit = (int64_t)((uint64_t)1 << (63 - m % 64));
            block->votes[m][lane] = vote;
            for (Py_ssize_t c = 0; c < classes; c++) {
                Py_ssize_t at = (m * images + t) * classes + c;
                block->probs[m * classes + c][lane] =
                    t >= to ? 0.0 : is_double ? ((const double *)probs)[at] : (double)((const float *)probs)[at];
                if (vote < 0 || vote == c)
                    block->voters[m / 64 * classes + c][lane] |= bit;
            }
        }
    }
}

static void *lanes(size_t count)
{
    size_t bytes = (count ? count : 1) * sizeof(Reals);
    return aligned_alloc(sizeof(Reals), bytes);
}

static PyObject *py_mistakes(PyObject *self, PyObject *args)
{
    Py_buffer probs, votes, masks, starts, list, shared, out;
    Py_ssize_t members, images, classes, from, to;
    int leave_one_out, is_double;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*py*nnny*y*y*y*pnnw*", &probs, &is_double, &votes, &members, &images, &classes, &masks,
                          &starts, &list, &shared, &leave_one_out, &from, &to, &out))
        return NULL;
    Lists lists = {masks.buf, list.buf, shared.buf, starts.buf, out.len / (Py_ssize_t)sizeof(int64_t),
                   (members + 63) / 64};
    Block block = {lanes((size_t)(members * classes)), lanes((size_t)(lists.words * classes)),
                   lanes((size_t)members), lanes((size_t)((members + 1) * classes))};
    int whole = block.probs && block.voters && block.votes && block.sums;
    if (whole) {
        Py_BEGIN_ALLOW_THREADS
        memset(block.sums, 0, (size_t)classes * sizeof(Reals));
        for (Py_ssize_t at = from; at < to; at += LANES) {
            fill(&block, probs.buf, is_double, votes.buf, members, images, classes, lists.words, at, to);
            if (leave_one_out)
                mistakes_loo(&lists, &block, classes, out.buf);
            else
                mistakes(&lists, &block, classes, out.buf);
        }
        Py_END_ALLOW_THREADS
    }
    free(block.probs);
    free(block.voters);
    free(block.votes);
    free(block.sums);
    PyBuffer_Release(&probs);
    PyBuffer_Release(&votes);
    PyBuffer_Release(&masks);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&list);
    PyBuffer_Release(&shared);
    PyBuffer_Release(&out);
    if (!whole)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* --------------------------------------------------------------------------------------- hard mistakes */

#define BALLOTS 64 /* reference images processed together */

/* As mistakes, for the most frequent vote. A walk over the sorted lists keeps how many members vote for each class on
 * each image, and for each prefix the largest of these numbers: the members that differ from it are the others.
 * counts is classes x BALLOTS and all 0, largest (members + 1) x BALLOTS with a first row of 0. */
static void hard_mistakes(const Lists *lists, const uint16_t *votes, Py_ssize_t images, Py_ssize_t from, Py_ssize_t size,
                          uint16_t *counts, uint16_t *largest, int leave_one_out, int64_t *out)
{
    const int32_t *before = NULL;
    Py_ssize_t depth = 0;
    for (Py_ssize_t k = 0; k < lists->count; k++) {
        const int32_t *list = lists->members + lists->starts[k];
        Py_ssize_t length = (Py_ssize_t)(lists->starts[k + 1] - lists->starts[k]);
        for (; depth > lists->shared[k]; depth--) {
            const uint16_t *vote = votes + before[depth - 1] * images + from;
            for (Py_ssize_t i = 0; i < size; i++)
                counts[vote[i] * BALLOTS + i]--;
        }
        for (; depth < length; depth++) {
            const uint16_t *vote = votes + list[depth] * images + from, *most = largest + depth * BALLOTS;
            uint16_t *more = largest + (depth + 1) * BALLOTS;
            for (Py_ssize_t i = 0; i < size; i++) {
                uint16_t count = ++counts[vote[i] * BALLOTS + i];
                more[i] = count > most[i] ? count : most[i];
            }
        }
        before = list;
        if (!leave_one_out) {
            int64_t agreeing = 0;
            for (Py_ssize_t i = 0; i < size; i++)
                agreeing += largest[length * BALLOTS + i];
            out[k] += (int64_t)(length * size) - agreeing;
            continue;
        }
        for (Py_ssize_t i = 0; i < size && length > 1; i++) {
            /* the two classes with most votes; the lowest class wins a tie */
            int32_t first = -1, second = -1, firsts = 0, seconds = 0;
            for (Py_ssize_t l = 0; l < length; l++) {
                int32_t class = votes[list[l] * images + from + i], count = counts[class * BALLOTS + i];
                if (count > firsts || (count == firsts && class < first)) {
                    first = class;
                    firsts = count;
                }
            }
            for (Py_ssize_t l = 0; l < length; l++) {
                int32_t class = votes[list[l] * images + from + i], count = counts[class * BALLOTS + i];
                if (class != first && (count > seconds || (count == seconds && class < second))) {
                    second = class;
                    seconds = count;
                }
            }
            for (Py_ssize_t l = 0; l < length; l++) {
                int32_t class = votes[list[l] * images + from + i], others = counts[class * BALLOTS + i] - 1;
                int32_t rivals = class == first ? seconds : firsts, rival = class == first ? second : first;
                out[k] += !(others > rivals || (others == rivals && class < rival));
            }
        }
    }
    for (; depth > 0; depth--) {
        const uint16_t *vote = votes + before[depth - 1] * images + from;
        for (Py_ssize_t i = 0; i < size; i++)
            counts[vote[i] * BALLOTS + i]--;
    }
}

static PyObject *py_hard_mistakes(PyObject *self, PyObject *args)
{
    Py_buffer votes, starts, list, shared, out;
    Py_ssize_t members, images, classes, from, to;
    int leave_one_out;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*nnny*y*y*pnnw*", &votes, &members, &images, &classes, &starts, &list, &shared,
                          &leave_one_out, &from, &to, &out))
        return NULL;
    Lists lists = {NULL, list.buf, shared.buf, starts.buf, out.len / (Py_ssize_t)sizeof(int64_t), 0};
    uint16_t *counts = calloc((size_t)(classes * BALLOTS), sizeof *counts);
    uint16_t *largest = calloc((size_t)((members + 1) * BALLOTS), sizeof *largest);
    int whole = counts && largest;
    if (whole) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t at = from; at < to; at += BALLOTS)
            hard_mistakes(&lists, votes.buf, images, at, to - at < BALLOTS ? to - at : BALLOTS, counts, largest,
                          leave_one_out, out.buf);
        Py_END_ALLOW_THREADS
    }
    free(counts);
    free(largest);
    PyBuffer_Release(&votes);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&list);
    PyBuffer_Release(&shared);
    PyBuffer_Release(&out);
    if (!whole)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"votes", py_votes, METH_VARARGS,
     "votes(probs, classes, is_double, tolerance, out) -> first bad row or -1, whether any number is negative"},
    {"member_sums", py_member_sums, METH_VARARGS, "member_sums(probs, is_double, members, stride, from, out)"},
    {"row_sums", py_row_sums, METH_VARARGS, "row_sums(terms, columns, out)"},
    {"subspaces", py_subspaces, METH_VARARGS, "subspaces(votes, itemsize, members, images) -> masks, starts, index"},
    {"mistakes", py_mistakes, METH_VARARGS,
     "mistakes(probs, is_double, votes, members, images, classes, masks, starts, list, shared, leave_one_out,"
     " from, to, out)"},
    {"hard_mistakes", py_hard_mistakes, METH_VARARGS,
     "hard_mistakes(votes, members, images, classes, starts, list, shared, leave_one_out, from, to, out)"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernels", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernels(void) { return PyModule_Create(&module); }
