-- Stores what messages carry.
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at)
VALUES (:id, :queue, :shard, :ordering_key, :headers, :content_type, :payload, {now})
