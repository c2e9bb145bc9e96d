-- What was read from chains stands in a file of its own here (store/shelf/sqlite); the version goes along with PostgreSQL's.
SELECT 1;
