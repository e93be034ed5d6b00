import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { applyPatch } = await page("patch.js");

const CASES = [
  [{ a: 1 }, { op: "add", path: "/b", value: 2 }, { a: 1, b: 2 }],
  [{ a: [1, 3] }, { op: "add", path: "/a/1", value: 2 }, { a: [1, 2, 3] }],
  [{ a: [1] }, { op: "add", path: "/a/-", value: 2 }, { a: [1, 2] }],
  [{ a: [1, 2] }, { op: "replace", path: "/a/0", value: 9 }, { a: [9, 2] }],
  [{ a: { b: 1, c: 2 } }, { op: "remove", path: "/a/b" }, { a: { c: 2 } }],
  [{ a: 1 }, { op: "move", from: "/a", path: "/b" }, { b: 1 }],
  [{ a: 1 }, { op: "copy", from: "/a", path: "/b" }, { a: 1, b: 1 }],
  [{ "x/y~z": 1 }, { op: "replace", path: "/x~1y~0z", value: 2 }, { "x/y~z": 2 }],
  [{ a: 1 }, { op: "replace", path: "", value: 5 }, 5],
  [{ a: 1 }, { op: "test", path: "/a", value: 1 }, { a: 1 }],
];

for (const [before, operation, after] of CASES) {
  test(`${operation.op} ${operation.path}`, () => {
    const copy = structuredClone(before);
    assert.deepEqual(applyPatch(before, [operation]), after);
    assert.deepEqual(before, copy);
  });
}

for (const operation of [
  { op: "remove", path: "/nope" },
  { op: "test", path: "/a", value: 2 },
  { op: "replace", path: "/a/b/c", value: 1 },
  { op: "surprise", path: "/a" },
]) {
  test(`refuses ${JSON.stringify(operation)}`, () => assert.throws(() => applyPatch({ a: 1 }, [operation]), RangeError));
}

test("no path reaches a prototype", () => {
  const patched = applyPatch({}, [{ op: "add", path: "/__proto__", value: { polluted: true } }]);
  assert.equal(patched.polluted, undefined);
  assert.throws(() => applyPatch({}, [{ op: "add", path: "/constructor/prototype/polluted", value: 1 }]), RangeError);
});
