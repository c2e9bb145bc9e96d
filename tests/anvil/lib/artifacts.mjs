// Compiled contracts as their publishers ship them: four layouts of the same thing, read into one.

import { createRequire } from "node:module";
import { AbiCoder, Interface, concat } from "ethers";

const require = createRequire(import.meta.url);

/** Loads `{ abi, bytecode, linkReferences }` from a file of an installed package. */
export function artifact(file) {
  const { abi, bytecode, linkReferences = {} } = require(file);
  // Foundry nests what the others keep flat. None of its contracts here needs a library.
  const code = bytecode.object ?? bytecode;
  return { abi, bytecode: code.replace(/^0x/, ""), linkReferences };
}

/** The same from a module that holds one class with ABI and bytecode, as TypeChain writes it. */
export function factoryArtifact(file) {
  const [{ abi, bytecode }] = Object.values(require(file));
  return { abi, bytecode: bytecode.replace(/^0x/, ""), linkReferences: {} };
}

/** What a deployment transaction carries: linked bytecode followed by the constructor's arguments. */
export function initCode({ abi, bytecode, linkReferences }, args, libraries) {
  const inputs = new Interface(abi).deploy.inputs;
  return concat([`0x${linked(bytecode, linkReferences, libraries)}`, AbiCoder.defaultAbiCoder().encode(inputs, args)]);
}

/** Writes each library's address over its placeholder. Offsets count bytes, two characters each. */
function linked(bytecode, linkReferences, libraries) {
  const places = Object.values(linkReferences).flatMap((file) => Object.entries(file));
  let code = bytecode;
  for (const [name, references] of places) {
    const address = libraries[name].address.slice(2).toLowerCase();
    for (const { start, length } of references) {
      code = code.slice(0, 2 * start) + address + code.slice(2 * (start + length));
    }
  }
  return code;
}
