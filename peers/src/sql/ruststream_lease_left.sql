-- A row is deleted with its acknowledgement.
SELECT 1 FROM ruststream_lease LIMIT 1
