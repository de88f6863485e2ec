-- Which digests messages of an erased recipient have opened; it looks at all that are open.
SELECT digest_key
  FROM claimstream_digest
 WHERE digest_id IN (:ids)
