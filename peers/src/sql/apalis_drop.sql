-- The library's migrations make them again.
DROP TABLE IF EXISTS jobs;
DROP TABLE IF EXISTS workers;
DROP TABLE IF EXISTS _sqlx_migrations;
