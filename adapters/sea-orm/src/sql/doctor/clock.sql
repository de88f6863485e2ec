-- By how many microseconds the newest note of an instance is later than the present moment; negative if it is earlier, none without instances.
SELECT {micros MAX(seen_at)} - {micros {now}} AS ahead
  FROM claimstream_instance
