-- Whether this table is there; the name of each table takes its place.
SELECT 1 FROM claimstream_schema WHERE 1 = 0
