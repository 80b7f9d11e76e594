// Copying and comparing memory, for the static build: the C library that it is linked with compares byte by byte, and copies with
// the processor's string instructions, which take long to begin and are slow backwards. Most copies here are of a few words.

#include <stddef.h>
#include <stdint.h>

// From this length on, the processor's own way of copying forwards is the fastest.
#define LONG 1024

typedef uint64_t pair __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t eight __attribute__((aligned(1), may_alias));
typedef uint32_t four __attribute__((aligned(1), may_alias));
typedef uint16_t two __attribute__((aligned(1), may_alias));

// Moves `n` bytes, from one unit to two: all is read before anything is written, so the places may overlap.
#define MOVE(unit)                                                 \
    {                                                              \
        unit first = *(const unit *)from;                          \
        unit last = *(const unit *)(from + n - sizeof(unit));      \
        *(unit *)to = first;                                       \
        *(unit *)(to + n - sizeof(unit)) = last;                   \
    }

// Moves at most two pairs.
static inline void move_few(unsigned char *to, const unsigned char *from, size_t n)
{
    if (n >= sizeof(pair)) MOVE(pair)
    else if (n >= sizeof(eight)) MOVE(eight)
    else if (n >= sizeof(four)) MOVE(four)
    else if (n >= sizeof(two)) MOVE(two)
    else if (n == 1) *to = *from;
}

// Moves from the front on; the target may overlap the source if it begins before it.
static inline void move_up(unsigned char *to, const unsigned char *from, size_t n)
{
    if (n >= LONG) {
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
        return;
    }
    for (; n > 2 * sizeof(pair); n -= sizeof(pair)) {
        *(pair *)to = *(const pair *)from;
        to += sizeof(pair);
        from += sizeof(pair);
    }
    move_few(to, from, n);
}

void *memcpy(void *restrict target, const void *restrict source, size_t n)
{
    move_up(target, source, n);
    return target;
}

void *memmove(void *target, const void *source, size_t n)
{
    unsigned char *to = target;
    const unsigned char *from = source;
    // As numbers without a sign: a target before the source is far from it too.
    if ((uintptr_t)to - (uintptr_t)from >= n) {
        move_up(to, from, n);
        return target;
    }
    for (; n > 2 * sizeof(pair); n -= sizeof(pair))
        *(pair *)(to + n - sizeof(pair)) = *(const pair *)(from + n - sizeof(pair));
    move_few(to, from, n);
    return target;
}

int memcmp(const void *left, const void *right, size_t n)
{
    const unsigned char *a = left, *b = right;
    for (; n >= sizeof(eight); n -= sizeof(eight), a += sizeof(eight), b += sizeof(eight)) {
        uint64_t x = *(const eight *)a, y = *(const eight *)b;
        if (x != y) return __builtin_bswap64(x) < __builtin_bswap64(y) ? -1 : 1;
    }
    for (; n > 0; n--, a++, b++)
        if (*a != *b) return *a - *b;
    return 0;
}
