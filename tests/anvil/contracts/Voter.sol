// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";

interface IGauge {
    function initialize(IERC20 token) external;
}

/// Makes gauges, each a minimal proxy, and says which ones it made.
contract Voter {
    mapping(address => bool) public isGauge;

    event GaugeCreated(address gauge);

    function createGauge(address implementation, IERC20 token) external returns (address gauge) {
        gauge = Clones.clone(implementation);
        IGauge(gauge).initialize(token);
        isGauge[gauge] = true;
        emit GaugeCreated(gauge);
    }
}
