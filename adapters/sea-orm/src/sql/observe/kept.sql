-- What is kept of a message, but for its payload.
SELECT queue, {signed shard} AS shard, ordering_key, headers, content_type, {signed {octets payload}} AS bytes,
       {since created_at} AS age, {since first_at} AS first_age
  FROM claimstream_message
 WHERE id = :id
