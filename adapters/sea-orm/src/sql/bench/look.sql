-- The least that a database can be asked.
SELECT {signed 1} AS one
