"""Writes messages into Claimstream's outbox, in the transaction of the business data: Python with PyMySQL.

    python3 producer.py HOST PORT USER PASSWORD DATABASE insert|call

`enqueue_by_insert` writes the rows itself, `enqueue_by_call` calls the routine of `claimstream schema routines --apply`.
"""

import json
import random
import sys
import time

import pymysql

TAKEN = 1062
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def enqueue_by_insert(cursor, queue, payload, ordering_key=None, dedup_key=None, headers=None, delay_ms=0):
    """Writes a message; False if its dedup key is taken. What is empty is left out."""
    message = uuid7()
    cursor.execute("SELECT COUNT(*) FROM claimstream_shard")
    (shards,) = cursor.fetchone()
    shard = shard_of(ordering_key.encode() if ordering_key else message, shards)
    if dedup_key:
        try:
            cursor.execute(
                "INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at)"
                " VALUES (%s, %s, UNHEX(%s), UTC_TIMESTAMP(6))",
                (queue, dedup_key, message.hex()),
            )
        except pymysql.err.IntegrityError as error:
            if error.args[0] == TAKEN:
                return False
            raise
    cursor.execute(
        "INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at)"
        " VALUES (UNHEX(%s), %s, %s, %s, %s, 'application/json', %s, UTC_TIMESTAMP(6))",
        (message.hex(), queue, shard, ordering_key or None, as_json(headers), json.dumps(payload)),
    )
    cursor.execute(
        "INSERT INTO claimstream_queue (queue, shard, available_at, id)"
        " VALUES (%s, %s, UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND, UNHEX(%s))",
        (queue, shard, delay_ms * 1000, message.hex()),
    )
    return True


def enqueue_by_call(cursor, queue, payload, ordering_key=None, dedup_key=None, headers=None, delay_ms=0):
    """The same by the routine."""
    cursor.execute(
        "CALL claimstream_enqueue(%s, %s, 'application/json', %s, %s, %s, %s, NULL)",
        (queue, json.dumps(payload), ordering_key or None, dedup_key or None, as_json(headers), delay_ms),
    )
    _id, is_new = cursor.fetchone()
    while cursor.nextset():
        pass
    return bool(is_new)


def as_json(headers):
    return json.dumps(headers) if headers else None


def shard_of(data, shards):
    """FNV-1a with 64 bits, its halves folded, modulo the number of shards."""
    hashed = 0xCBF29CE484222325
    for byte in data:
        hashed = (hashed ^ byte) * 0x100000001B3 % 2**64
    return (hashed >> 32 ^ hashed & 0xFFFFFFFF) % shards


def uuid7():
    """A UUIDv7 as 16 bytes; any id that is never used twice would do."""
    number = time.time_ns() // 1_000_000 << 80 | random.SystemRandom().getrandbits(80)
    number = number & ~(0xF << 76) | 0x7 << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    return number.to_bytes(16, "big")


def main():
    host, port, user, password, database, way = sys.argv[1:]
    enqueue = enqueue_by_call if way == "call" else enqueue_by_insert
    connection = pymysql.connect(
        host=host, port=int(port), user=user, password=password, database=database, charset="utf8mb4"
    )

    def order(number, **options):
        with connection.cursor() as cursor:
            connection.begin()
            cursor.execute("INSERT INTO orders (id) VALUES (%s)", (number,))
            is_new = enqueue(cursor, "orders", {"order": number, "by": "Grün & Söhne"}, **options)
            print("new" if is_new else "taken", number, flush=True)

    for number in range(1, 7):
        order(number, ordering_key=f"Kunde {number % 2} €", headers={"traceparent": TRACE, "X-Shop": "Köln"})
        connection.commit()
    order(7, dedup_key="order-7")
    connection.commit()
    order(8, dedup_key="order-7")
    connection.commit()
    order(9, delay_ms=1500)
    connection.commit()
    order(10)
    connection.rollback()
    order(11, ordering_key="", dedup_key="", headers={})
    connection.commit()


main()
