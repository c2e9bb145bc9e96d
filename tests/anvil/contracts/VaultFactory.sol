// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

/// Says which vaults it made, as the factories of Morpho do. It takes vaults that were made elsewhere, since none of its code is published ready to deploy.
contract VaultFactory {
    mapping(address => bool) public isMetaMorpho;

    function enter(address vault) external {
        isMetaMorpho[vault] = true;
    }
}
