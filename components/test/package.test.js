import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { vendored } from "../build/vendor.js";
import { VERSION, defineAguiGate } from "../agui-gate.js";

const file = (/** @type {string} */ name) => readFile(new URL(`../${name}`, import.meta.url), "utf8");

test("the vendored lit is what the pinned package gives", async () => {
  assert.equal(await file("vendor/lit.js"), await vendored(), "run `npm run vendor`");
});

test("the version is the package's", async () => {
  assert.equal(JSON.parse(await file("package.json")).version, VERSION);
});

test("versions are pinned, and the lock names no address", async () => {
  const { devDependencies } = JSON.parse(await file("package.json"));
  for (const version of Object.values(devDependencies)) assert.match(version, /^\d/);
  assert.ok(!(await file("package-lock.json")).includes('"resolved"'));
});

test("without a DOM there is nothing to define, and that is no error", () => defineAguiGate());
