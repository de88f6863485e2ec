-- Has MySQL 8 and newer read their statistics again for this session; a number of rows is a day old otherwise. MariaDB reads no comment of
-- that version, and always reads them again.
SET /*!80000 SESSION information_schema_stats_expiry = 0, */ @claimstream_fresh = 1
