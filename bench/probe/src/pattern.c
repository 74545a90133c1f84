/*
 * Test data: 64-bit words that depend on the position and on a seed, so that
 * stale, shifted, swapped and half-written messages all show.
 */
#include <string.h>

#include "probe.h"

/* splitmix64 (Steele, Lea, Flood 2014): neighbouring seeds become unlike. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t pattern_seed(uint64_t base, int from, int to, int slot)
{
    uint64_t ranks = (uint64_t)(uint32_t)from << 32 | (uint32_t)to;
    return mix(mix(mix(base) ^ ranks) ^ (uint64_t)(uint32_t)slot);
}

static uint64_t word_at(size_t i, uint64_t seed)
{
    return seed + i * 0xd1342543de82ef95u;
}

void pattern_fill(void *buf, size_t n, uint64_t seed)
{
    unsigned char *p = buf;
    size_t words = n / 8;
    for (size_t i = 0; i < words; i++) {
        uint64_t w = word_at(i, seed);
        memcpy(p + 8 * i, &w, 8);
    }
    uint64_t tail = mix(word_at(words, seed));
    memcpy(p + 8 * words, &tail, n % 8);
}

static long wrong_bytes(const unsigned char *a, const void *b, size_t n)
{
    const unsigned char *e = b;
    long wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += a[i] != e[i];
    return wrong;
}

long pattern_wrong(const void *buf, size_t n, uint64_t seed)
{
    const unsigned char *p = buf;
    size_t words = n / 8;
    long wrong = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t w = word_at(i, seed);
        if (memcmp(p + 8 * i, &w, 8))
            wrong += wrong_bytes(p + 8 * i, &w, 8);
    }
    uint64_t tail = mix(word_at(words, seed));
    return wrong + wrong_bytes(p + 8 * words, &tail, n % 8);
}
