"""Reads an export as BittyTax does, and tells how many rows it takes. Status 1 where it refuses one."""

import sys

from bittytax.import_records import ImportRecords

records = ImportRecords()
with open(sys.argv[1], newline="", encoding="utf-8") as table:
    records.import_csv(table)
for row in records.t_rows:
    if row.failure:
        print(row.failure, file=sys.stderr)
print(records.success_cnt)
sys.exit(1 if records.failure_cnt else 0)
