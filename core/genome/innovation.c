#include "genome/innovation.h"

#include "base/array.h"
#include "base/hash.h"
#include "genome/genome.h"

#include <stdlib.h>
#include <string.h>

enum { EDGE = 1, SPLIT = 2, RESIZE = 3 };

_Static_assert(sizeof(innovation_key) == 32, "no padding: hashed and compared as bytes");

typedef struct innovation_record {
    innovation_key key;
    uint64_t number;
} innovation_record;

struct innovation_table {
    innovation_record *records; // in the order they were made
    size_t record_count, record_capacity;
    uint32_t *slots;   // open addressing: index of a record + 1, 0 = free
    size_t slot_count; // a power of two, more than twice the records
    uint64_t next_edge;
    uint32_t next_node;
};

innovation_table *innovation_table_create(hox_error *error) {
    innovation_table *table = array_create(1, sizeof *table, error);
    if (!table) return NULL;
    table->next_edge = 1;
    table->next_node = GENOME_OUTPUT + 1;
    table->slot_count = 64;
    table->slots = array_create(table->slot_count, sizeof *table->slots, error);
    if (table->slots) return table;
    free(table);
    return NULL;
}

void innovation_table_destroy(innovation_table *table) {
    if (!table) return;
    free(table->records);
    free(table->slots);
    free(table);
}

// The slot that holds key, or the free one where it belongs.
static size_t slot_of(const innovation_table *table, const innovation_key *key) {
    size_t slot = hash_bytes(key, sizeof *key).words[1] & (table->slot_count - 1);
    while (table->slots[slot] &&
           memcmp(&table->records[table->slots[slot] - 1].key, key, sizeof *key) != 0)
        slot = (slot + 1) & (table->slot_count - 1);
    return slot;
}

static hox_status grow_slots(innovation_table *table, hox_error *error) {
    uint32_t *slots = array_create(table->slot_count * 2, sizeof *slots, error);
    if (!slots) return HOX_OUT_OF_HOST_MEMORY;
    free(table->slots);
    table->slots = slots;
    table->slot_count *= 2;
    for (size_t i = 0; i < table->record_count; i++)
        slots[slot_of(table, &table->records[i].key)] = (uint32_t)i + 1;
    return HOX_OK;
}

static hox_status number_of(innovation_table *table, innovation_key key, uint64_t *number,
                            hox_error *error) {
    const uint32_t found = table->slots[slot_of(table, &key)];
    if (found) {
        *number = table->records[found - 1].number;
        return HOX_OK;
    }
    innovation_record *records = array_grow(table->records, &table->record_capacity,
                                            table->record_count + 1, sizeof *records, error);
    if (!records) return HOX_OUT_OF_HOST_MEMORY;
    table->records = records;
    if ((table->record_count + 1) * 2 >= table->slot_count) HOX_TRY(grow_slots(table, error));

    *number = key.kind == EDGE ? table->next_edge++ : table->next_node++;
    records[table->record_count++] = (innovation_record){key, *number};
    table->slots[slot_of(table, &key)] = (uint32_t)table->record_count;
    return HOX_OK;
}

hox_status innovation_of_edge(innovation_table *table, uint32_t from, uint32_t to,
                              uint64_t *innovation, hox_error *error) {
    return number_of(table, (innovation_key){.kind = EDGE, .first = from, .second = to}, innovation,
                     error);
}

hox_status innovation_of_split(innovation_table *table, uint64_t edge_innovation, uint32_t channels,
                               uint32_t n, uint32_t *node_id, hox_error *error) {
    uint64_t number;
    HOX_TRY(number_of(
        table,
        (innovation_key){
            .kind = SPLIT, .first = edge_innovation, .size = {.channels = channels}, .n = n},
        &number, error));
    *node_id = (uint32_t)number;
    return HOX_OK;
}

hox_status innovation_of_resize(innovation_table *table, uint32_t old_node, map_size size,
                                uint32_t n, uint32_t *node_id, hox_error *error) {
    uint64_t number;
    HOX_TRY(number_of(table,
                      (innovation_key){.kind = RESIZE, .first = old_node, .size = size, .n = n},
                      &number, error));
    *node_id = (uint32_t)number;
    return HOX_OK;
}

size_t innovation_count(const innovation_table *table) {
    return table->record_count;
}

innovation_key innovation_key_at(const innovation_table *table, size_t index) {
    return table->records[index].key;
}

hox_status innovation_replay(innovation_table *table, innovation_key key, hox_error *error) {
    uint64_t number;
    if (key.kind < EDGE || key.kind > RESIZE)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "unknown kind of innovation %u",
                             key.kind);
    return number_of(table, key, &number, error);
}
