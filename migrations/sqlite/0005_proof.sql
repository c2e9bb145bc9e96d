-- When somebody showed that the account's address is theirs, by a link that the operator handed over. Whoever only signed up showed nothing:
-- what an operator gives to the address does not go to that account. Accounts that an operator has dealt with already count as shown.
ALTER TABLE accounts ADD COLUMN proved_at INTEGER;
UPDATE accounts SET proved_at = created_at
WHERE is_operator OR owner_id IN (SELECT id FROM owners WHERE tier <> 'dev' OR pool IS NOT NULL);
