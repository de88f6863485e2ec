-- Whether a session that callers have had is known to lead to this outbox's own database, outside a transaction. The sum is out of
-- range where it remembers nothing or something else: 1690.
SELECT ~0 + (NOT COALESCE(@claimstream = CONCAT(CAST(DATABASE() AS BINARY), ' ', :made_at), 0))
