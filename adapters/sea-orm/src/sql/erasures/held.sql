-- When recipients were erased that the transaction holds; those who were not are left out.
SELECT recipient_hash, {micros erased_at} AS erased_at
  FROM claimstream_erased_recipient
 WHERE recipient_hash IN (:hashes)
   AND erased_at IS NOT NULL
 {for_update}
