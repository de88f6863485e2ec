-- Notes the shards of dead letters by the new count.
UPDATE claimstream_dead
   SET shard = CASE id /*each*/ WHEN :id THEN :target /*end*/ ELSE shard END
 WHERE id IN (:ids)
