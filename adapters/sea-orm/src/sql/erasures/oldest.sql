-- The oldest erasure before the bound, if there is one.
SELECT {micros erased_at} AS erased_at
  FROM claimstream_erased_recipient
 WHERE erased_at < {moment :bound}
 ORDER BY erased_at
 LIMIT 1
