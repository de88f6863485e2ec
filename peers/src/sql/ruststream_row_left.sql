-- A row is deleted with its acknowledgement.
SELECT 1 FROM ruststream_row LIMIT 1
