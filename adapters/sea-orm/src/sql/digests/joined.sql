-- Which digests are open, of keys that are locked.
SELECT digest_key, digest_id
  FROM claimstream_digest
 WHERE digest_key IN (:keys)
 ORDER BY digest_key
 {for_update}
