-- Locks by key, those that have lapsed too.
SELECT lock_key, {signed fence} AS fence, CASE WHEN token = :free THEN 0 ELSE {micros held_until} - {micros {now}} END AS ends_in
  FROM claimstream_lock
 WHERE lock_key >= :first
 ORDER BY lock_key
 LIMIT :limit
