-- How a file keeps text.
SELECT encoding AS encoding
  FROM pragma_encoding
