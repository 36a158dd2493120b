// What Swift without a runtime wants of a C library: an allocator, and the functions on bytes that compilers call.

typedef __SIZE_TYPE__ size_t;

extern unsigned char __heap_base;

// Blocks are powers of two, from 16 bytes on; a block that is free is in the list of its size. The word before what is handed
// out has the size's power. Memory is never returned to the system.
enum { SMALLEST = 4, LARGEST = 31, PAGE = 65536 };
static void *lists[LARGEST];
static unsigned char *next;

static void *from_system(size_t size) {
    size_t place = next ? (size_t)next : ((size_t)&__heap_base + 15) & ~(size_t)15;
    size_t memory = (size_t)__builtin_wasm_memory_size(0) * PAGE;
    if (size > memory - place) {
        size_t pages = (size - (memory - place) + PAGE - 1) / PAGE;
        if (__builtin_wasm_memory_grow(0, pages) == (size_t)-1) __builtin_trap();
    }
    next = (unsigned char *)place + size;
    return (void *)place;
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    // The block begins at a multiple of 16; what comes before the address has to hold the power and the block's beginning.
    size_t head = alignment > 16 ? alignment : 16;
    if (size > ((size_t)1 << (LARGEST - 1)) - 2 * head) __builtin_trap();
    size_t wanted = size + head + (alignment > 16 ? alignment : 0);
    unsigned power = SMALLEST;
    while (((size_t)1 << power) < wanted) power++;
    void *block = lists[power];
    if (block) lists[power] = *(void **)block;
    else block = from_system((size_t)1 << power);
    size_t address = ((size_t)block + head + (head - 1)) & ~(head - 1);
    if (alignment <= 16) address = (size_t)block + 16;
    ((size_t *)address)[-1] = power;
    ((size_t *)address)[-2] = (size_t)block;
    *result = (void *)address;
    return 0;
}

void free(void *address) {
    if (!address) return;
    size_t power = ((size_t *)address)[-1];
    void **block = (void **)((size_t *)address)[-2];
    *block = lists[power];
    lists[power] = block;
}

void *memcpy(void *restrict to, const void *restrict from, size_t count) {
    return __builtin_memcpy(to, from, count);
}

void *memmove(void *to, const void *from, size_t count) {
    return __builtin_memmove(to, from, count);
}

void *memset(void *to, int value, size_t count) {
    return __builtin_memset(to, value, count);
}

int memcmp(const void *one, const void *other, size_t count) {
    const unsigned char *left = one, *right = other;
    for (size_t index = 0; index < count; index++)
        if (left[index] != right[index]) return left[index] < right[index] ? -1 : 1;
    return 0;
}

// Dictionaries and sets are seeded the same each time: nothing here may depend on chance.
void arc4random_buf(void *to, size_t count) {
    memset(to, 7, count);
}

// The guard that functions with arrays on their stack compare when they return.
size_t __stack_chk_guard = 0x595e9fbd;

_Noreturn void __stack_chk_fail(void) { __builtin_trap(); }

// The product of two numbers of 128 bits.
__int128 __multi3(__int128 one, __int128 other) {
    unsigned long long a = one, b = other, low = 0xFFFFFFFF;
    unsigned long long first = (a & low) * (b & low), second = (a >> 32) * (b & low) + (first >> 32);
    unsigned long long third = (a & low) * (b >> 32) + (second & low);
    unsigned long long high = (a >> 32) * (b >> 32) + (second >> 32) + (third >> 32);
    high += (unsigned long long)(one >> 64) * b + a * (unsigned long long)(other >> 64);
    return (__int128)(((unsigned __int128)high << 64) | (third << 32 | (first & low)));
}
