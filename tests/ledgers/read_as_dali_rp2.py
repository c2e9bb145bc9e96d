"""Reads the three tables for RP2 as dali-rp2 does, and prints what it makes of them, an object a line. Status 1 where it refuses a row."""

import json
import sys

from dali.configuration import Keyword
from dali.plugin.input.csv.manual import InputPlugin
from dali.transaction_resolver import resolve_transactions
from rp2.abstract_country import AbstractCountry

acquired, disposed_of, moved = sys.argv[1:]
transactions = InputPlugin(acquired, disposed_of, moved).load(AbstractCountry("us", "usd"))
# Without prices from the web: those stay unknown.
settings = {Keyword.NATIVE_FIAT.value: "USD", Keyword.HISTORICAL_PAIR_CONVERTERS.value: []}
for transaction in resolve_transactions(transactions, settings, False):
    fields = transaction.constructor_parameter_dictionary
    print(json.dumps({"table": type(transaction).__name__, **fields}))
