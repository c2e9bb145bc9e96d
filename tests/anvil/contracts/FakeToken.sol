// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

/// A token without balances that logs any transfer its caller names.
contract FakeToken {
    string public name;
    string public symbol;
    uint8 public constant decimals = 6;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(string memory name_, string memory symbol_) {
        name = name_;
        symbol = symbol_;
    }

    function balanceOf(address) external pure returns (uint256) {
        return 0;
    }

    function pretend(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }
}
