"""Parquet in the hands of DuckDB, which has a reader and a writer of its own.

read TABLE.parquet    prints the columns with their types, and each row as an array of texts, as lines of JSON
write TABLE.csv TABLE.parquet    writes a table of texts"""

import json
import sys

import duckdb

# A timestamp is the milliseconds since 1970, whatever the time zone of the machine; what is not there is null.
AS_TEXT = {"TIMESTAMP WITH TIME ZONE": "epoch_ms({})::varchar"}

if sys.argv[1] == "read":
    table = duckdb.read_parquet(sys.argv[2])
    columns = [(name, str(kind)) for name, kind in zip(table.columns, table.types)]
    print(json.dumps(columns))
    texts = [AS_TEXT.get(kind, "{}::varchar").format(f'"{name}"') for name, kind in columns]
    for row in table.project(", ".join(texts)).fetchall():
        print(json.dumps(row))
else:
    duckdb.read_csv(sys.argv[2], all_varchar=True).write_parquet(sys.argv[3])
