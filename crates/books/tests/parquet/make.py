"""Writes the tables of this folder, as the tools that people have write them by default, and in the other ways that a page can be written.

Made with pyarrow 26.0.1, polars 2.1.0, duckdb 2.0.0, fastparquet 2026.9.0: python make.py FOLDER"""

import sys

import duckdb
import fastparquet
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq

folder = sys.argv[1]
ONE = "0x04df701a75c3dc3f1283c6a26e668bec4bd92cf7f02e9963c3c887f5376c590e"
OTHER = "0x6cb9d7ceb55a1063c17b58cb643e699525ca6037e711c34283cf0f3d6e81716e"
SOLANA = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"
WALLET = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"

# One table, four rows: the third has no hash.
rows = {
    "Block": [1, 2, 3, 4],
    "Transaction Hash": [ONE, OTHER, None, SOLANA],
    "Network": ["base", "base", None, "solana"],
    "wallet": [WALLET, None, None, None],
}
table = pa.table(rows)
pq.write_table(table, f"{folder}/pyarrow.parquet")
pq.write_table(table, f"{folder}/pyarrow-gzip-v2.parquet", compression="gzip", data_page_version="2.0", row_group_size=2)
deltas = {"Transaction Hash": "DELTA_LENGTH_BYTE_ARRAY", "Network": "DELTA_BYTE_ARRAY", "wallet": "PLAIN"}
pq.write_table(table, f"{folder}/pyarrow-delta.parquet", use_dictionary=False, column_encoding=deltas, compression="none")
pq.write_table(table, f"{folder}/pyarrow-brotli.parquet", compression="brotli")
polars.DataFrame(rows).write_parquet(f"{folder}/polars.parquet")
database = duckdb.connect()
database.register("rows", table)
database.execute(f"copy rows to '{folder}/duckdb.parquet' (format parquet)")
database.execute(f"copy rows to '{folder}/duckdb-v2-zstd.parquet' (format parquet, parquet_version v2, compression zstd)")
fastparquet.write(f"{folder}/fastparquet.parquet", pandas.DataFrame(rows), row_group_offsets=[0, 3])

# Hashes as raw bytes, as cryo writes them, beside columns that are nested.
raw = {
    "block_number": [1, 2, 3],
    "transaction_hash": pa.array([bytes.fromhex(ONE[2:]), bytes.fromhex(OTHER[2:]), None], pa.binary()),
    "account": pa.array([bytes.fromhex(WALLET[2:])] * 3, pa.binary()),
    "hash": [{"hash": "nested"}] * 3,
    "topics": [["x", "y"]] * 3,
}
pq.write_table(pa.table(raw), f"{folder}/raw.parquet")
fixed = {
    "proof": pa.array([bytes.fromhex(ONE[2:]), bytes.fromhex(OTHER[2:])], pa.binary(32)),
    "wallet": pa.array([bytes.fromhex(WALLET[2:])] * 2, pa.binary(20)),
}
pq.write_table(pa.table(fixed), f"{folder}/fixed.parquet")

# A thousand rows, over several row groups and pages.
many = pa.table(
    {
        "hash": ["0x%064x" % number for number in range(1000)],
        "chain": [None if number % 7 == 0 else "base" if number % 3 else "ethereum" for number in range(1000)],
    }
)
pq.write_table(many, f"{folder}/many.parquet", row_group_size=450, data_page_size=1024, dictionary_pagesize_limit=4096)
deltas = {"hash": "DELTA_BYTE_ARRAY", "chain": "DELTA_LENGTH_BYTE_ARRAY"}
pq.write_table(many, f"{folder}/many-delta.parquet", use_dictionary=False, column_encoding=deltas, compression="zstd")
polars.DataFrame(many).write_parquet(f"{folder}/many-polars.parquet", row_group_size=300)
