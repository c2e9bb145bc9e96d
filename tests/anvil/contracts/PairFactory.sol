// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";

interface IPair {
    function initialize(IERC20 first, IERC20 second) external;
}

/// Makes one pair for two tokens and a curve, at an address that follows from them, as Velodrome and Aerodrome do.
contract PairFactory {
    event PoolCreated(address pool);

    function createPool(address implementation, IERC20 first, IERC20 second, bool stable) external {
        (IERC20 low, IERC20 high) = address(first) < address(second) ? (first, second) : (second, first);
        address pool = Clones.cloneDeterministic(implementation, keccak256(abi.encodePacked(low, high, stable)));
        IPair(pool).initialize(low, high);
        emit PoolCreated(pool);
    }
}
