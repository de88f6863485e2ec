-- Notes the shards of bodies by the new count.
UPDATE claimstream_message
   SET shard = CASE id /*each*/ WHEN :id THEN :target /*end*/ ELSE shard END
 WHERE id IN (:ids)
