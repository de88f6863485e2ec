-- The fence of a lock, and whether its newest write is the one with this token; takes no lock of its own.
SELECT {signed fence} AS fence, token = :token AS is_ours
  FROM claimstream_lock
 WHERE lock_key = :key
