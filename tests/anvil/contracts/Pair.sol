// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// Exchanges two tokens at a fixed price, with the event that the pools of Velodrome and Aerodrome log.
contract Pair {
    IERC20 public token0;
    IERC20 public token1;

    event Swap(
        address indexed sender,
        address indexed to,
        uint256 amount0In,
        uint256 amount1In,
        uint256 amount0Out,
        uint256 amount1Out
    );

    function initialize(IERC20 first, IERC20 second) external {
        require(address(token0) == address(0), "made before");
        (token0, token1) = (first, second);
    }

    /// Gives so much of the other token for so much of this one.
    function swap(IERC20 paid, uint256 amountIn, uint256 amountOut) external {
        bool isFirst = paid == token0;
        require(paid.transferFrom(msg.sender, address(this), amountIn), "not paid");
        require((isFirst ? token1 : token0).transfer(msg.sender, amountOut), "not paid out");
        (uint256 in0, uint256 in1) = isFirst ? (amountIn, uint256(0)) : (uint256(0), amountIn);
        (uint256 out0, uint256 out1) = isFirst ? (uint256(0), amountOut) : (amountOut, uint256(0));
        emit Swap(msg.sender, msg.sender, in0, in1, out0, out1);
    }
}
