/** What the pages of people who decide and of operators say is there in both languages, with the same blanks. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

globalThis.navigator ??= { language: "en" }; // Node 20 has none
const [decide, operate] = [await page("approvalwords.js"), await page("adminwords.js")];

const blanks = (said) => (typeof said === "string" ? [...said.matchAll(/\{\w+\}/g)].map(String).sort() : Object.entries(said).map(([key, text]) => [key, ...blanks(text)]));

for (const [name, { wordsFor }] of Object.entries({ decide, operate }))
  test(`what ${name === "decide" ? "the inbox" : "the page of operators"} says is there in English and German`, () => {
    const [english, german] = [wordsFor("en"), wordsFor("de")];
    assert.deepEqual(Object.keys(german).sort(), Object.keys(english).sort());
    for (const [key, said] of Object.entries(english)) assert.deepEqual(blanks(german[key]), blanks(said), key);
  });
