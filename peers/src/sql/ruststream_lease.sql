-- The lease form: the column of the lease makes it one.
DROP TABLE IF EXISTS ruststream_lease;
CREATE TABLE ruststream_lease (
    id BIGINT AUTO_INCREMENT PRIMARY KEY,
    locked_until DATETIME,
    payload BLOB NOT NULL
) ENGINE = InnoDB;
