-- Whether the server knows the collation that the library's migrations ask for.
SELECT 1 FROM information_schema.COLLATIONS WHERE COLLATION_NAME = 'utf8mb4_0900_ai_ci'
