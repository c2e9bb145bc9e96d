#!/usr/bin/env python3
"""Records the demo-solana chain: real programs (System, Token, Token-2022, Associated Token, Stake, Vote, Memo) run by LiteSVM.

    python3 -m venv target/solana && target/solana/bin/pip install solders==0.29.0
    target/solana/bin/python demo/record_solana.py

Writes demo/solana-scenario.json (what was done, by name) and demo/solana.jsonl (what a node would answer). Two runs give the same
files: keys and block times are fixed.
"""
import hashlib
import json
import struct
from pathlib import Path

from solders.account import Account
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import Transaction
from solders.transaction_metadata import FailedTransactionMetadata

HERE = Path(__file__).parent
CHAIN = "demo-solana"
FIRST_TIME = 1767225600
SOL = 1_000_000_000
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

SYSTEM = Pubkey.default()
TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022 = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
ASSOCIATED = Pubkey.from_string("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
STAKE = Pubkey.from_string("Stake11111111111111111111111111111111111111")
STAKE_CONFIG = Pubkey.from_string("StakeConfig11111111111111111111111111111111")
VOTE = Pubkey.from_string("Vote111111111111111111111111111111111111111")
WRAPPED_SOL = Pubkey.from_string("So11111111111111111111111111111111111111112")
RENT = Pubkey.from_string("SysvarRent111111111111111111111111111111111")
CLOCK = Pubkey.from_string("SysvarC1ock11111111111111111111111111111111")
STAKE_HISTORY = Pubkey.from_string("SysvarStakeHistory1111111111111111111111111")


def base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def keypair(name):
    return Keypair.from_seed(hashlib.sha256(f"taxon demo {name}".encode()).digest())


def meta(key, signs=False, writes=True):
    return AccountMeta(key, signs, writes)


def create_account(payer, new, lamports, space, owner):
    data = struct.pack("<IQQ", 0, lamports, space) + bytes(owner)
    return Instruction(SYSTEM, data, [meta(payer, True), meta(new, True)])


def send_sol(sender, to, lamports):
    return Instruction(SYSTEM, struct.pack("<IQ", 2, lamports), [meta(sender, True), meta(to)])


def associated(owner, mint, program=TOKEN):
    return Pubkey.find_program_address([bytes(owner), bytes(program), bytes(mint)], ASSOCIATED)[0]


def open_associated(payer, owner, mint, program=TOKEN):
    accounts = [meta(payer, True), meta(associated(owner, mint, program)), meta(owner, writes=False), meta(mint, writes=False)]
    accounts += [meta(SYSTEM, writes=False), meta(program, writes=False)]
    return Instruction(ASSOCIATED, b"\x01", accounts)


def token(program, data, accounts):
    return Instruction(program, data, accounts)


def mint_to(mint, to, authority, amount, program=TOKEN):
    return token(program, struct.pack("<BQ", 7, amount), [meta(mint), meta(to), meta(authority, True, False)])


def send_token(source, mint, to, owner, amount, decimals, program=TOKEN):
    accounts = [meta(source), meta(mint, writes=False), meta(to), meta(owner, True, False)]
    return token(program, struct.pack("<BQB", 12, amount, decimals), accounts)


class Recorder:
    def __init__(self):
        self.svm = LiteSVM().with_blockhash_check(False)
        self.slot = 0
        self.done, self.exchanges = [], []

    def held(self, key):
        """What a token account says: mint, owner, amount, program."""
        account = self.svm.get_account(key)
        if account is None or account.owner not in (TOKEN, TOKEN_2022) or len(account.data) < 165:
            return None
        data = bytes(account.data)
        if len(data) > 165 and data[165] != 2:
            return None
        return Pubkey(data[:32]), Pubkey(data[32:64]), struct.unpack("<Q", data[64:72])[0], account.owner

    def decimals(self, mint):
        return 9 if mint == WRAPPED_SOL else bytes(self.svm.get_account(mint).data)[44]

    def balances(self, keys):
        lamports, tokens = [], []
        for index, key in enumerate(keys):
            account = self.svm.get_account(key)
            lamports.append(account.lamports if account else 0)
            held = self.held(key)
            if held:
                mint, owner, amount, program = held
                shown = {"amount": str(amount), "decimals": self.decimals(mint)}
                tokens.append({"accountIndex": index, "mint": str(mint), "owner": str(owner), "programId": str(program), "uiTokenAmount": shown})
        return lamports, tokens

    def run(self, name, instructions, signers, wallet=None):
        self.slot += 1
        self.svm.warp_to_slot(self.slot)
        blockhash = Hash(hashlib.sha256(f"{name} {self.slot}".encode()).digest())
        payer = signers[0].pubkey()
        transaction = Transaction(signers, Message.new_with_blockhash(instructions, payer, blockhash), blockhash)
        message = transaction.message
        keys = list(message.account_keys)
        before, tokens_before = self.balances(keys)
        outcome = self.svm.send_transaction(transaction)
        failed = isinstance(outcome, FailedTransactionMetadata)
        seen = outcome.meta() if failed else outcome
        after, tokens_after = self.balances(keys)
        assert failed == (name == "sol_failed"), outcome
        if name is None:
            return
        inner = []
        for index, group in enumerate(seen.inner_instructions()):
            rows = [self.instruction(one.instruction(), one.stack_height()) for one in group]
            if rows:
                inner.append({"index": index, "instructions": rows})
        signature = str(transaction.signatures[0])
        result = {
            "blockTime": FIRST_TIME + self.slot,
            "slot": self.slot,
            "version": "legacy",
            "meta": {
                "err": {"InstructionError": [0, {"Custom": 1}]} if failed else None,
                "fee": 5000 * len(signers),
                "preBalances": before,
                "postBalances": after,
                "preTokenBalances": tokens_before,
                "postTokenBalances": tokens_after,
                "innerInstructions": inner,
                "logMessages": seen.logs(),
                "loadedAddresses": {"writable": [], "readonly": []},
            },
            "transaction": {
                "signatures": [str(one) for one in transaction.signatures],
                "message": {
                    "accountKeys": [str(key) for key in keys],
                    "header": {
                        "numRequiredSignatures": message.header.num_required_signatures,
                        "numReadonlySignedAccounts": message.header.num_readonly_signed_accounts,
                        "numReadonlyUnsignedAccounts": message.header.num_readonly_unsigned_accounts,
                    },
                    "recentBlockhash": str(blockhash),
                    "instructions": [self.instruction(one, None) for one in message.instructions],
                },
            },
        }
        wanted = [signature, {"encoding": "json", "maxSupportedTransactionVersion": 0, "commitment": "confirmed"}]
        self.answer("getTransaction", wanted, result)
        status = {"slot": self.slot, "confirmations": None, "err": result["meta"]["err"], "confirmationStatus": "finalized"}
        history = [[signature], {"searchTransactionHistory": True}]
        self.answer("getSignatureStatuses", history, {"context": {"slot": self.slot}, "value": [status]})
        self.done.append({"name": name, "hash": signature, "wallet": str(wallet or payer)})

    @staticmethod
    def instruction(one, stack_height):
        return {
            "programIdIndex": one.program_id_index,
            "accounts": list(one.accounts),
            "data": base58(bytes(one.data)),
            "stackHeight": stack_height,
        }

    def answer(self, method, params, result):
        self.exchanges.append({"chain": CHAIN, "method": method, "params": params, "result": result})

    def write(self):
        scenario = {"chain": CHAIN, "wallet": str(WALLET.pubkey()), "transactions": self.done}
        (HERE / "solana-scenario.json").write_text(json.dumps(scenario, indent=2) + "\n")
        lines = sorted(json.dumps(one, separators=(",", ":")) for one in self.exchanges)
        (HERE / "solana.jsonl").write_text("\n".join(lines) + "\n")
        print(f"recorded {len(self.done)} transactions, {sum(map(len, lines))} bytes")


WALLET, OTHER, MAKER = keypair("wallet"), keypair("other"), keypair("maker")


def make_mint(recorder, name, decimals, program=TOKEN, extension=b"", space=82):
    mint = keypair(name)
    rent = recorder.svm.minimum_balance_for_rent_exemption(space)
    initialize = struct.pack("<BB", 20, decimals) + bytes(MAKER.pubkey()) + b"\x00"
    steps = [create_account(MAKER.pubkey(), mint.pubkey(), rent, space, program)]
    if extension:
        steps.append(token(program, extension, [meta(mint.pubkey())]))
    steps.append(token(program, initialize, [meta(mint.pubkey())]))
    recorder.run(None, steps, [MAKER, mint])
    return mint.pubkey()


def give(recorder, mint, owner, amount, program=TOKEN):
    to = associated(owner, mint, program)
    steps = [open_associated(MAKER.pubkey(), owner, mint, program), mint_to(mint, to, MAKER.pubkey(), amount, program)]
    recorder.run(None, steps, [MAKER])


def tokens(recorder):
    wallet, other = WALLET.pubkey(), OTHER.pubkey()
    usd = make_mint(recorder, "dollar", 6)
    give(recorder, usd, wallet, 1_000_000_000)
    mine, theirs = associated(wallet, usd), associated(other, usd)
    recorder.run("spl_transfer_to_new_account", [open_associated(wallet, other, usd), send_token(mine, usd, theirs, wallet, 25_000_000, 6)], [WALLET])
    recorder.run("spl_transfer", [send_token(mine, usd, theirs, wallet, 1_500_000, 6)], [WALLET])
    recorder.run("spl_receipt", [send_token(theirs, usd, mine, other, 500_000, 6)], [OTHER], wallet)
    recorder.run("spl_gasless_transfer", [send_token(mine, usd, theirs, wallet, 250_000, 6)], [OTHER, WALLET], wallet)
    recorder.run("spl_approval", [token(TOKEN, struct.pack("<BQ", 4, 7), [meta(mine), meta(other, writes=False), meta(wallet, True, False)])], [WALLET])
    recorder.run("spl_revoke", [token(TOKEN, b"\x05", [meta(mine), meta(wallet, True, False)])], [WALLET])
    euro = make_mint(recorder, "euro", 9)
    recorder.run("spl_account_open", [open_associated(wallet, wallet, euro)], [WALLET])
    close = token(TOKEN, b"\x09", [meta(associated(wallet, euro)), meta(wallet), meta(wallet, True, False)])
    recorder.run("spl_account_close", [close], [WALLET])
    art = make_mint(recorder, "picture", 0)
    give(recorder, art, wallet, 1)
    steps = [open_associated(wallet, other, art), send_token(associated(wallet, art), art, associated(other, art), wallet, 1, 0)]
    recorder.run("spl_nft_transfer", steps, [WALLET])


def token_2022(recorder):
    """A mint whose transfers cost 1 %: less arrives than was sent."""
    wallet, other = WALLET.pubkey(), OTHER.pubkey()
    authority = b"\x01" + bytes(MAKER.pubkey())
    fee = struct.pack("<BB", 26, 0) + authority + authority + struct.pack("<HQ", 100, 10**12)
    mint = make_mint(recorder, "taxed", 6, TOKEN_2022, fee, 278)
    give(recorder, mint, wallet, 1_000_000_000, TOKEN_2022)
    give(recorder, mint, other, 1_000_000_000, TOKEN_2022)
    mine, theirs = associated(wallet, mint, TOKEN_2022), associated(other, mint, TOKEN_2022)
    recorder.run("token_2022_transfer_with_fee", [send_token(mine, mint, theirs, wallet, 10_000_000, 6, TOKEN_2022)], [WALLET])
    recorder.run("token_2022_receipt_with_fee", [send_token(theirs, mint, mine, other, 10_000_000, 6, TOKEN_2022)], [OTHER], wallet)


def wrapped(recorder):
    wallet = WALLET.pubkey()
    # On a live chain the mint of wrapped SOL has been there from the beginning.
    native_mint = b"\x00" * 44 + b"\x09\x01" + b"\x00" * 36
    recorder.svm.set_account(WRAPPED_SOL, Account(SOL, native_mint, TOKEN))
    account = associated(wallet, WRAPPED_SOL)
    sync = token(TOKEN, b"\x11", [meta(account)])
    close = token(TOKEN, b"\x09", [meta(account), meta(wallet), meta(wallet, True, False)])
    opened = [open_associated(wallet, wallet, WRAPPED_SOL), send_sol(wallet, account, SOL), sync]
    recorder.run("sol_wrapped", opened, [WALLET])
    recorder.run("sol_unwrapped", [close], [WALLET])
    recorder.run("sol_wrapped_for_a_moment", [*opened, close, send_sol(wallet, OTHER.pubkey(), SOL // 10)], [WALLET])


def staking(recorder):
    wallet = WALLET.pubkey()
    vote, node, stake = keypair("vote"), keypair("node"), keypair("stake")
    rent = recorder.svm.minimum_balance_for_rent_exemption(3762)
    init = struct.pack("<I", 0) + bytes(node.pubkey()) * 3 + b"\x05"
    accounts = [meta(vote.pubkey()), meta(RENT, writes=False), meta(CLOCK, writes=False), meta(node.pubkey(), True, False)]
    steps = [create_account(MAKER.pubkey(), vote.pubkey(), rent, 3762, VOTE), Instruction(VOTE, init, accounts)]
    recorder.run(None, steps, [MAKER, vote, node])
    begin = struct.pack("<I", 0) + bytes(wallet) * 2 + struct.pack("<qQ", 0, 0) + bytes(SYSTEM)
    delegate_accounts = [meta(stake.pubkey()), meta(vote.pubkey(), writes=False), meta(CLOCK, writes=False)]
    delegate_accounts += [meta(STAKE_HISTORY, writes=False), meta(STAKE_CONFIG, writes=False), meta(wallet, True, False)]
    steps = [
        create_account(wallet, stake.pubkey(), 3 * SOL, 200, STAKE),
        Instruction(STAKE, begin, [meta(stake.pubkey()), meta(RENT, writes=False)]),
        Instruction(STAKE, struct.pack("<I", 2), delegate_accounts),
    ]
    recorder.run("stake_delegate", steps, [WALLET, stake])
    off = [meta(stake.pubkey()), meta(CLOCK, writes=False), meta(wallet, True, False)]
    recorder.run("stake_deactivate", [Instruction(STAKE, struct.pack("<I", 5), off)], [WALLET])
    out = [meta(stake.pubkey()), meta(wallet), meta(CLOCK, writes=False), meta(STAKE_HISTORY, writes=False), meta(wallet, True, False)]
    recorder.run("stake_withdraw", [Instruction(STAKE, struct.pack("<IQ", 4, 3 * SOL), out)], [WALLET])


def main():
    recorder = Recorder()
    for owner in (WALLET, OTHER, MAKER):
        recorder.svm.airdrop(owner.pubkey(), 100 * SOL)
    wallet, other = WALLET.pubkey(), OTHER.pubkey()
    recorder.run("sol_transfer", [send_sol(wallet, other, 1_250_000_000)], [WALLET])
    recorder.run("sol_receipt", [send_sol(other, wallet, 420_000_000)], [OTHER], wallet)
    memo = Instruction(MEMO, b"invoice 7", [meta(wallet, True, False)])
    recorder.run("sol_transfer_with_memo", [memo, send_sol(wallet, other, 10_000_000)], [WALLET])
    recorder.run("memo_alone", [memo], [WALLET])
    recorder.run("sol_failed", [send_sol(wallet, other, 10_000 * SOL)], [WALLET])
    tokens(recorder)
    token_2022(recorder)
    wrapped(recorder)
    staking(recorder)
    recorder.write()


if __name__ == "__main__":
    main()
