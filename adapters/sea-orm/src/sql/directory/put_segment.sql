-- Makes a segment; one that is known stays as it is.
INSERT INTO claimstream_directory_segment (segment, created_at)
VALUES (:segment, {now})
{or_keep segment}
