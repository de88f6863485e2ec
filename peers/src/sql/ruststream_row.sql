-- The row-lock form: the key and the payload are all it takes.
DROP TABLE IF EXISTS ruststream_row;
CREATE TABLE ruststream_row (
    id BIGINT AUTO_INCREMENT PRIMARY KEY,
    payload BLOB NOT NULL
) ENGINE = InnoDB;
