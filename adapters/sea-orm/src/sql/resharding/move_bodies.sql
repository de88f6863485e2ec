-- The same for what they carry.
UPDATE claimstream_message
   SET shard = :target
 WHERE id IN (:ids)
