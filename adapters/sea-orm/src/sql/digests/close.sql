-- Closes digests: no item joins them any more. It waits for those that are joining.
DELETE FROM claimstream_digest
 WHERE digest_key IN (:keys)
   AND digest_id IN (:ids)
