-- The least that a transaction can write.
UPDATE claimstream_bench
   SET beats = beats + 1
 WHERE id = 1
