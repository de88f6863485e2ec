-- Whether statements of a connection commit themselves outside a transaction, and whether it is in one; MySQL does not say.
SELECT CAST(@@autocommit AS SIGNED) AS autocommit, CAST(1 /*M!100500 AND @@in_transaction */ AS SIGNED) AS in_transaction
