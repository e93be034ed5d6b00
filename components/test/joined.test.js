import assert from "node:assert/strict";
import test from "node:test";
import { joined, literal } from "../elements/joined.js";

/** A template of a shape of its own. */
const shape = (/** @type {string} */ name) => joined(literal(name)).strings;

test("what is made of a shape is used again, as long as there are not hundreds of others since", () => {
  const [first, second] = [shape("first"), shape("second")];
  for (let at = 0; at < 200; at++) shape(`one ${at}`);
  assert.equal(shape("first"), first);
  for (let at = 0; at < 200; at++) shape(`other ${at}`);
  assert.equal(shape("first"), first, "it was used since");
  assert.notEqual(shape("second"), second);
});
