-- Whether a segment is known.
SELECT segment
  FROM claimstream_directory_segment
 WHERE segment = :segment
