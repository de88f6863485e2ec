-- A message waits for its sequence number, or the cursor of its partition has not passed it.
SELECT 1 WHERE EXISTS (SELECT 1 FROM toolkit_outbox_incoming)
    OR EXISTS (
        SELECT 1 FROM toolkit_outbox_partitions AS shard
        JOIN toolkit_outbox_processor AS cursor_of ON cursor_of.partition_id = shard.id
        WHERE cursor_of.processed_seq < shard.sequence
    )
