-- Forgets the dedup keys of a time whose messages have no body and are no dead letters; no key is read, whatever it holds.
DELETE FROM claimstream_dedup
 WHERE created_at >= {moment :from}
   AND created_at <= {moment :upto}
   AND NOT EXISTS (SELECT 1 FROM claimstream_message m WHERE m.id = claimstream_dedup.message_id)
   AND NOT EXISTS (SELECT 1 FROM claimstream_dead x WHERE x.id = claimstream_dedup.message_id)
