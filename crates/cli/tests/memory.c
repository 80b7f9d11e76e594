// Compares what the static build has in place of a part of its C library with doing it byte by byte.

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void *own_memcpy(void *restrict target, const void *restrict source, size_t n);
void *own_memmove(void *target, const void *source, size_t n);
int own_memcmp(const void *left, const void *right, size_t n);

#define LONGEST 1300
#define ROOM (LONGEST + 128)

static unsigned char from[ROOM], to[ROOM], wanted[ROOM];
static size_t checks;

static void fill(void)
{
    for (size_t i = 0; i < ROOM; i++) {
        from[i] = (unsigned char)(i * 7 + 1);
        to[i] = wanted[i] = (unsigned char)(i * 13 + 5);
    }
}

static void same(const char *what, size_t n, size_t at, size_t other)
{
    checks++;
    for (size_t i = 0; i < ROOM; i++) {
        if (to[i] == wanted[i]) continue;
        printf("%s of %zu bytes, %zu and %zu: byte %zu is wrong\n", what, n, at, other, i);
        exit(1);
    }
}

static void copies(size_t n, size_t at, size_t other)
{
    fill();
    for (size_t i = 0; i < n; i++) wanted[at + i] = from[other + i];
    if (own_memcpy(to + at, from + other, n) != to + at) exit(2);
    same("memcpy", n, at, other);
}

static void moves(size_t n, size_t at, size_t other)
{
    fill();
    for (size_t i = 0; i < n; i++) from[i] = to[other + i];
    for (size_t i = 0; i < n; i++) wanted[at + i] = from[i];
    if (own_memmove(to + at, to + other, n) != to + at) exit(3);
    same("memmove", n, at, other);
}

static int sign(int value) { return (value > 0) - (value < 0); }

static void compares(size_t n, size_t at, size_t other)
{
    for (size_t i = 0; i < n; i++) from[at + i] = to[other + i] = (unsigned char)(i * 31 + 200);
    if (own_memcmp(from + at, to + other, n) != 0) exit(4);
    for (size_t differs = 0; differs < n; differs += n < 40 ? 1 : 37) {
        for (int step = -1; step <= 1; step += 2) {
            unsigned char old = to[other + differs];
            to[other + differs] = (unsigned char)(old + step);
            // What comes after the first difference does not count.
            if (differs + 1 < n) to[other + differs + 1] ^= 0xff;
            int expected = from[at + differs] < to[other + differs] ? -1 : 1;
            if (sign(own_memcmp(from + at, to + other, n)) != expected) exit(5);
            if (differs + 1 < n) to[other + differs + 1] ^= 0xff;
            to[other + differs] = old;
            checks++;
        }
    }
}

int main(void)
{
    for (size_t n = 0; n <= LONGEST; n += n < 140 || (n > 1000 && n < 1050) ? 1 : 29)
        for (size_t at = 0; at < 40; at += at < 18 ? 1 : 7)
            for (size_t other = 0; other < 40; other += other < 18 ? 1 : 7) {
                copies(n, at, other);
                moves(n, at, other);
                if (at < 9 && other < 9) compares(n, at, other);
            }
    printf("%zu checks\n", checks);
    return 0;
}
