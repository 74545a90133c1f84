/* Hash, pattern and stamp of a page: what tells a right page from a stale,
 * lost, torn or misplaced one. The hash adds 32×32 → 64 bit products of eight
 * lanes, each with a key that moves on with every stripe, so equal stripes that
 * change places are seen (the multiply-add of UMAC's NH; Black et al., CRYPTO
 * 1999). It guards against faults, not against an adversary. */
#include "nmx.h"

#include <string.h>
#include <time.h>

#define LANES 8
#define MIN_STAMPED 32 /* shorter pages carry no stamp */

uint64_t nmx_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t nmx_mix(uint64_t x)
{ /* the finalizer of SplitMix64 (Steele, Lea, Flood 2014) */
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static const uint64_t lane_step[LANES] = {
	0x9e3779b185ebca87u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u, 0x85ebca77c2b2ae63u,
	0x27d4eb2f165667c5u, 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu, 0x8ebc6af09c88c6e3u,
};

static void stripes_any(const unsigned char *p, size_t n, uint64_t *acc, uint64_t *key)
{
	for (; n > 0; n--, p += 8 * LANES) {
		for (int j = 0; j < LANES; j++) {
			uint64_t d;
			memcpy(&d, p + 8 * j, sizeof d);
			uint64_t v = d ^ key[j];
			acc[j] += (v & 0xffffffffu) * (v >> 32) + d;
			key[j] += lane_step[j];
		}
	}
}

#ifdef __x86_64__
#include <immintrin.h>

#define HALF_STRIPE(at, a, k, step) \
	do { \
		__m256i d = _mm256_loadu_si256((const __m256i *)(at)), v = _mm256_xor_si256(d, k); \
		a = _mm256_add_epi64(a, _mm256_add_epi64(_mm256_mul_epu32(v, _mm256_srli_epi64(v, 32)), d)); \
		k = _mm256_add_epi64(k, step); \
	} while (0)

/* The same, four lanes an instruction: compilers do not find it by themselves. */
__attribute__((target("avx2"))) static void stripes_avx2(const unsigned char *p, size_t n, uint64_t *acc, uint64_t *key)
{
	__m256i a0 = _mm256_loadu_si256((__m256i *)acc), a1 = _mm256_loadu_si256((__m256i *)acc + 1);
	__m256i k0 = _mm256_loadu_si256((__m256i *)key), k1 = _mm256_loadu_si256((__m256i *)key + 1);
	const __m256i s0 = _mm256_loadu_si256((const __m256i *)lane_step), s1 = _mm256_loadu_si256((const __m256i *)lane_step + 1);
	for (; n > 0; n--, p += 8 * LANES) {
		HALF_STRIPE(p, a0, k0, s0);
		HALF_STRIPE(p + 32, a1, k1, s1);
	}
	_mm256_storeu_si256((__m256i *)acc, a0), _mm256_storeu_si256((__m256i *)acc + 1, a1);
	_mm256_storeu_si256((__m256i *)key, k0), _mm256_storeu_si256((__m256i *)key + 1, k1);
}
#endif

static void stripes(const unsigned char *p, size_t n, uint64_t *acc, uint64_t *key)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		stripes_avx2(p, n, acc, key);
		return;
	}
#endif
	stripes_any(p, n, acc, key);
}

uint64_t nmx_hash(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t acc[LANES] = {0}, key[LANES];
	for (int j = 0; j < LANES; j++)
		key[j] = nmx_mix(lane_step[j]);
	size_t n = len / (8 * LANES);
	stripes(p, n, acc, key);
	unsigned char rest[8 * LANES] = {0};
	if (len % sizeof rest)
		memcpy(rest, p + n * sizeof rest, len % sizeof rest);
	stripes(rest, 1, acc, key);
	uint64_t h = len;
	for (int j = 0; j < LANES; j++)
		h = nmx_mix(h ^ acc[j]);
	return h;
}

static uint64_t head_stamp(uint64_t seed, uint32_t number)
{
	return nmx_mix(seed ^ nmx_mix(number));
}

void nmx_stamp(void *page, size_t len, uint64_t seed, uint32_t number)
{
	if (len < MIN_STAMPED)
		return;
	uint64_t s = head_stamp(seed, number), t = ~s;
	memcpy(page, &s, 8);
	memcpy((char *)page + len - 8, &t, 8);
}

int nmx_stamp_ok(const void *page, size_t len, uint64_t seed, uint32_t number)
{
	if (len < MIN_STAMPED)
		return 1;
	uint64_t s = head_stamp(seed, number), head, tail;
	memcpy(&head, page, 8);
	memcpy(&tail, (const char *)page + len - 8, 8);
	return head == s && tail == ~s;
}

uint64_t nmx_body_hash(const void *page, size_t len)
{
	if (len < MIN_STAMPED)
		return nmx_hash(page, len);
	return nmx_hash((const char *)page + 8, len - 16);
}

void nmx_fill(void *page, size_t len, uint64_t seed, uint64_t number)
{
	uint64_t x = nmx_mix(seed ^ nmx_mix(number)) | 1;
	unsigned char *p = page;
	for (; len >= 8; len -= 8, p += 8) {
		x ^= x << 13; /* xorshift64 (Marsaglia 2003) */
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(p, &x, 8);
	}
	memcpy(p, &x, len);
}

void nmx_fill_pages(void *base, size_t len, uint64_t n, uint64_t seed, uint64_t first, uint64_t *hash, void *scratch)
{
	for (uint64_t i = 0; i < n; i++) {
		char *page = base ? (char *)base + i * len : scratch;
		nmx_fill(page, len, seed, first + i);
		if (hash)
			hash[i] = nmx_body_hash(page, len);
	}
}
