/** Fields made from a JSON Schema, and what is typed into them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { changesTo, fromText, makeFields, put, readFields, toText } from "../core/fields.js";
import { GERMAN } from "../core/german.js";

/** @import { Field, Json } from "../core/types.js" */

/**
 * @param {any} schema
 * @param {unknown} value
 * @param {string[]} [required]
 */
const field = (schema, value, required = []) => /** @type {Field} */ (makeFields(["order_total"], { order_total: value }, { properties: { order_total: schema }, required })[0]);

for (const [schema, value, typed, expected] of /** @type {[any, unknown, string, unknown][]} */ ([
  [{ type: "number" }, 20, "12.5", 12.5],
  [{ type: "number" }, 20, "12,50", 12.5],
  [{ type: "number" }, 20, " -0,5 ", -0.5],
  [{ type: "integer" }, 2, " 3 ", 3],
  [{ type: "integer" }, 2, " 9007199254740993 ", "9007199254740993"],
  [{ type: "boolean" }, true, "false", false],
  [{ type: "string" }, "a", "b", "b"],
  [{ type: "string" }, "a", "", ""],
  [{ enum: [1, 2] }, 1, "2", 2],
  [{ anyOf: [{ type: "integer" }, { type: "null" }] }, 3, "", null],
  [{ type: ["string", "null"] }, "a", "", null],
  [{ type: "integer" }, undefined, "", undefined],
  [{ type: "array", items: { type: "string" } }, ["a"], "a\n\n b ", ["a", "b"]],
  [undefined, { a: 1 }, '{"a":2}', { a: 2 }],
]))
  test(`${JSON.stringify(schema)} reads ${JSON.stringify(typed)} as ${JSON.stringify(expected)}`, () => assert.deepEqual(fromText(field(schema, value), typed), expected));

for (const [schema, typed] of /** @type {[any, string][]} */ ([
  [{ type: "number" }, "abc"],
  [{ type: "number" }, "Infinity"],
  [{ type: "number" }, "1,000"],
  [{ type: "number" }, "1,000.5"],
  [{ type: "integer" }, "1.5"],
  [{ type: "integer", maximum: 10 }, "9007199254740993"],
  [{ type: "number", minimum: 1 }, "0"],
  [{ type: "number", exclusiveMinimum: 0 }, "-5"],
  [{ type: "number", exclusiveMinimum: 0 }, "0"],
  [{ type: "number", maximum: 9 }, "10"],
  [{ type: "number" }, ""],
  [{ type: "array" }, "[1"],
]))
  test(`${JSON.stringify(schema)} refuses ${JSON.stringify(typed)} with a sentence`, () => {
    assert.throws(() => fromText(field(schema, undefined, ["order_total"]), typed), /^Error: Order total .*\.$/);
  });

test("references are followed, objects are taken apart, and what is changed in one comes back whole", () => {
  const values = { to: { street: "A", zip: null }, by: "ups" };
  const schema = {
    properties: { to: { $ref: "#/$defs/Address" }, by: { $ref: "#/$defs/Carrier", default: "dhl" } },
    $defs: {
      Address: { title: "Address", type: "object", properties: { street: { type: "string" }, zip: { anyOf: [{ type: "string" }, { type: "null" }] } } },
      Carrier: { type: "string", enum: ["dhl", "ups"] },
    },
  };
  const fields = makeFields(["to", "by"], values, schema);
  assert.deepEqual(
    fields.map(({ name, label, kind, nullable }) => [name, label, kind, nullable]),
    [["to.street", "To street", "text", false], ["to.zip", "To zip", "text", true], ["by", "By", "choice", false]],
  );
  assert.deepEqual(fields.map(toText), ["A", "", "ups"]);
  /** @type {Json} */
  const changed = {};
  put(changed, values, ["to", "street"], "B");
  assert.deepEqual(changed, { to: { street: "B", zip: null } });
  assert.equal(values.to.street, "A");
});

test("an object with more than its schema tells of stays in one piece", () => {
  const schema = { properties: { to: { type: "object", properties: { street: { type: "string" } } } } };
  assert.deepEqual(makeFields(["to"], { to: { street: "A", floor: 2 } }, schema).map(({ name, kind }) => [name, kind]), [["to", "json"]]);
});

test("what nobody touched stays out, and what is wrong is said by field, in the words of the language", () => {
  const values = { order_id: "A1", amount: 20, note: "x" };
  const schema = { properties: { order_id: { type: "string" }, amount: { type: "number", minimum: 1 }, note: { type: "string" } }, required: ["amount"] };
  const fields = makeFields(["amount", "note"], values, schema);
  assert.deepEqual(readFields(fields, { amount: "12,5", note: "x" }, values, { onlyChanged: true }), { values: { amount: 12.5 }, problems: {} });
  assert.deepEqual(readFields(fields, { amount: "", note: "" }, values, { onlyChanged: true, strings: GERMAN }), { values: { note: "" }, problems: { amount: "Amount wird gebraucht." } });
});

test("a value that was typed anew and is the same is no change", () => {
  assert.deepEqual(changesTo({ amount: 20, to: { zip: "1" } }, { amount: 20, to: { zip: "1" } }), {});
  assert.deepEqual(changesTo({ amount: 20 }, { amount: 15 }), { amount: 15 });
});
