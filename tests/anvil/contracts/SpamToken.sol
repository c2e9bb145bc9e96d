// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

/// A token whose name is an advertisement, given to whoever did not ask for it.
contract SpamToken {
    string public name;
    string public symbol;
    uint8 public constant decimals = 18;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(string memory name_, string memory symbol_) {
        name = name_;
        symbol = symbol_;
    }

    function airdrop(address[] calldata recipients, uint256 amount) external {
        totalSupply += recipients.length * amount;
        for (uint256 i = 0; i < recipients.length; i++) {
            balanceOf[recipients[i]] += amount;
            emit Transfer(msg.sender, recipients[i], amount);
        }
    }
}
