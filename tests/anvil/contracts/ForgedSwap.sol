// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// Keeps a token for good and logs what a Uniswap v2 pair would log for a swap.
contract ForgedSwap {
    event Swap(
        address indexed sender,
        uint256 amount0In,
        uint256 amount1In,
        uint256 amount0Out,
        uint256 amount1Out,
        address indexed to
    );

    function swap(IERC20 token, uint256 amountIn, uint256 amountOut) external {
        token.transferFrom(msg.sender, address(this), amountIn);
        emit Swap(msg.sender, amountIn, 0, 0, amountOut, msg.sender);
    }
}
