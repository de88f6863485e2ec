-- Locks by key, those that have lapsed too.
SELECT lock_key, {signed fence} AS fence, {micros held_until} - {micros {now}} AS ends_in
  FROM claimstream_lock
 WHERE lock_key >= :first
 ORDER BY lock_key
 LIMIT :limit
