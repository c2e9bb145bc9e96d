// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// Keeps a token for good and logs what Aave's pool would log for a deposit.
contract ForgedSupply {
    event Supply(
        address indexed reserve,
        address user,
        address indexed onBehalfOf,
        uint256 amount,
        uint16 indexed referralCode
    );

    function supply(IERC20 asset, uint256 amount) external {
        asset.transferFrom(msg.sender, address(this), amount);
        emit Supply(address(asset), msg.sender, msg.sender, amount, 0);
    }
}
