/* Compiled kernels of versionspace.space: the three loops for which profiling showed NumPy to be slow.
 *
 *   votes       argmax and validation of probability rows, in one pass
 *   subspaces   the distinct sub-spaces V_x^y into which the votes on a pool split the members
 *   mistakes    for each sub-space, how often its members differ from their own majority vote
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
 * NaN fails the comparison with 0, infinity the check of the sum. The lowest class wins a tie. */
#define VOTES_BODY(suffix, real)                                                                            \
    INLINE void votes_##suffix##_body(const real *probs, Py_ssize_t rows, Py_ssize_t classes, double tolerance, \
                                      uint32_t *out, Py_ssize_t *bad)                                       \
    {                                                                                                       \
        for (Py_ssize_t r = 0; r < rows; r++) {                                                             \
            const real *p = probs + r * classes;                                                            \
            real best = p[0];                                                                               \
            double sum = p[0];                                                                              \
            uint32_t arg = 0;                                                                               \
            int fine = p[0] >= 0;                                                                           \
            for (Py_ssize_t c = 1; c < classes; c++) {                                                      \
                real v = p[c];                                                                              \
                fine &= v >= 0;                                                                             \
                sum += v;                                                                                   \
                arg = v > best ? (uint32_t)c : arg;                                                         \
                best = v > best ? v : best;                                                                 \
            }                                                                                               \
            out[r] = arg;                                                                                   \
            if (!(fine && fabs(sum - 1.0) <= tolerance)) {                                                  \
                *bad = r;                                                                                   \
                return;                                                                                     \
            }                                                                                               \
        }                                                                                                   \
    }                                                                                                       \
    VERSIONS(votes_##suffix,                                                                                \
             (const real *probs, Py_ssize_t rows, Py_ssize_t classes, double tolerance, uint32_t *out,      \
              Py_ssize_t *bad),                                                                             \
             (probs, rows, classes, tolerance, out, bad))

VOTES_BODY(f4, float)
VOTES_BODY(f8, double)

static PyObject *py_votes(PyObject *self, PyObject *args)
{
    Py_buffer probs, out;
    Py_ssize_t classes, bad = -1;
    double tolerance;
    int is_double;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*npdw*", &probs, &classes, &is_double, &tolerance, &out))
        return NULL;
    Py_ssize_t rows = out.len / (Py_ssize_t)sizeof(uint32_t);
    Py_BEGIN_ALLOW_THREADS
    if (is_double)
        votes_f8(probs.buf, rows, classes, tolerance, out.buf, &bad);
    else
        votes_f4(probs.buf, rows, classes, tolerance, out.buf, &bad);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&probs);
    PyBuffer_Release(&out);
    return PyLong_FromSsize_t(bad);
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
 * closer than that, the sum is recomputed in order. Sums of integers are exact and are never recomputed. */
INLINE void mistakes_loo_body(const Lists *lists, const Block *block, Py_ssize_t classes, int exact, int64_t *out)
{
    for (Py_ssize_t k = 0; k < lists->count; k++) {
        const int32_t *list = lists->members + lists->starts[k];
        Py_ssize_t size = (Py_ssize_t)(lists->starts[k + 1] - lists->starts[k]);
        extend(block, list, lists->shared[k], size, classes);
        if (size < 2)
            continue;
        const Reals *whole = block->sums + size * classes;
        double slack = exact ? -1.0 : 4.0 * (double)size * (double)size * 0x1p-52;
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

VERSIONS(mistakes_loo, (const Lists *lists, const Block *block, Py_ssize_t classes, int exact, int64_t *out),
         (lists, block, classes, exact, out))

/* Copies reference images [from, from + LANES) into the block. In lanes past the end `to`, every member counts as a
 * voter for every class, so that such a lane adds no mistakes; their votes are -1. */
static void fill(Block *block, const double *probs, const int32_t *votes, Py_ssize_t members, Py_ssize_t images,
                 Py_ssize_t classes, Py_ssize_t words, Py_ssize_t from, Py_ssize_t to)
{
    memset(block->voters, 0, (size_t)(words * classes) * sizeof(Flags));
    for (Py_ssize_t lane = 0; lane < LANES; lane++) {
        Py_ssize_t t = from + lane;
        for (Py_ssize_t m = 0; m < members; m++) {
            int32_t vote = t < to ? votes[m * images + t] : -1;
            int64_t bit = (int64_t)((uint64_t)1 << (63 - m % 64));
            block->votes[m][lane] = vote;
            for (Py_ssize_t c = 0; c < classes; c++) {
                block->probs[m * classes + c][lane] = t < to ? probs[(m * images + t) * classes + c] : 0.0;
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
    int leave_one_out, exact;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*nnny*y*y*y*ppnnw*", &probs, &votes, &members, &images, &classes, &masks, &starts,
                          &list, &shared, &leave_one_out, &exact, &from, &to, &out))
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
            fill(&block, probs.buf, votes.buf, members, images, classes, lists.words, at, to);
            if (leave_one_out)
                mistakes_loo(&lists, &block, classes, exact, out.buf);
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

static PyMethodDef methods[] = {
    {"votes", py_votes, METH_VARARGS, "votes(probs, classes, is_double, tolerance, out) -> first bad row, or -1"},
    {"subspaces", py_subspaces, METH_VARARGS, "subspaces(votes, itemsize, members, images) -> masks, starts, index"},
    {"mistakes", py_mistakes, METH_VARARGS,
     "mistakes(probs, votes, members, images, classes, masks, starts, list, shared, leave_one_out, exact,"
     " from, to, out)"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernels", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernels(void) { return PyModule_Create(&module); }
