"""Reads what a drain wrote with pyarrow and DuckDB, as a lake's users would, and tells what they saw as one JSON object.

    check.py FOLDER [S3-ENDPOINT BUCKET/PREFIX]
"""

import glob
import json
import sys

import duckdb
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet


def files(folder):
    return sorted(glob.glob(f"{folder}/chain=*/**/*.parquet", recursive=True))


def packed(folder):
    """Codecs, and whether the columns that queries filter by have bounds."""
    codecs, bounded = set(), True
    for name in files(folder):
        meta = pyarrow.parquet.ParquetFile(name).metadata
        for group in range(meta.num_row_groups):
            row_group = meta.row_group(group)
            for at in range(row_group.num_columns):
                column = row_group.column(at)
                codecs.add(column.compression)
                if column.path_in_schema == "time":
                    bounded = bounded and column.statistics is not None and column.statistics.has_min_max
    return sorted(codecs), bounded


def by_pyarrow(where, filesystem=None):
    table = pyarrow.dataset.dataset(where, format="parquet", partitioning="hive", filesystem=filesystem).to_table()
    return {"rows": table.num_rows, "hashes": len(set(table["hash"].to_pylist())), "chains": sorted(set(table["chain"].to_pylist()))}


def by_duckdb(folder):
    query = f"select count(*), count(distinct hash), list(distinct chain order by chain) from read_parquet('{folder}/chain=*/*/*.parquet', hive_partitioning = true)"
    [(rows, hashes, chains)] = duckdb.sql(query).fetchall()
    return {"rows": rows, "hashes": hashes, "chains": chains}


folder = sys.argv[1]
codecs, bounded = packed(folder)
seen = {"pyarrow": by_pyarrow(files(folder)), "duckdb": by_duckdb(folder), "codecs": codecs, "bounded": bounded}
if len(sys.argv) > 2:
    store = pyarrow.fs.S3FileSystem(endpoint_override=sys.argv[2], scheme="http", access_key="key", secret_key="secret", region="us-east-1")
    found = store.get_file_info(pyarrow.fs.FileSelector(sys.argv[3], recursive=True))
    seen["s3"] = by_pyarrow([info.path for info in found if info.path.endswith(".parquet")], store)
print(json.dumps(seen))
