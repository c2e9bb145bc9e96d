// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// Holds what is staked and gives no token for it, with the events that the gauges of Velodrome and Aerodrome log.
contract Gauge {
    IERC20 public stakingToken;
    mapping(address => uint256) public balanceOf;

    event Deposit(address indexed from, address indexed to, uint256 amount);
    event Withdraw(address indexed from, uint256 amount);

    function initialize(IERC20 token) external {
        require(address(stakingToken) == address(0), "made before");
        stakingToken = token;
    }

    function deposit(uint256 amount) external {
        require(stakingToken.transferFrom(msg.sender, address(this), amount), "not paid");
        balanceOf[msg.sender] += amount;
        emit Deposit(msg.sender, msg.sender, amount);
    }

    function withdraw(uint256 amount) external {
        balanceOf[msg.sender] -= amount;
        require(stakingToken.transfer(msg.sender, amount), "not paid");
        emit Withdraw(msg.sender, amount);
    }
}
