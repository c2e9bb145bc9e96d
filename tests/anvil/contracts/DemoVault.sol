// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

import {ERC20, IERC20, ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// OpenZeppelin ships ERC-4626 as an abstract contract, hence without bytecode. This is the least that makes it concrete.
contract DemoVault is ERC4626 {
    constructor(IERC20 asset) ERC20("Demo Dollar Vault", "dvUSD") ERC4626(asset) {}
}
