import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { createParser, readEvents } = await page("sse.js");

const STREAM = 'id: k:1\ndata: {"type":"A"}\n\n: ping\n\nid: k:2\nevent: message\ndata: {"type":"ü"}\n\n';

test("every way of cutting the stream gives the same payloads", () => {
  for (let cut = 0; cut <= STREAM.length; cut += 1) {
    const parser = createParser();
    const found = [...parser.push(STREAM.slice(0, cut)), ...parser.push(STREAM.slice(cut))];
    assert.deepEqual(found, ['{"type":"A"}', '{"type":"ü"}'], `cut at ${cut}`);
  }
});

test("CRLF line ends are understood, wherever they are cut", () => {
  const stream = STREAM.replaceAll("\n", "\r\n");
  for (let cut = 0; cut <= stream.length; cut += 1) {
    const parser = createParser();
    const found = [...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))];
    assert.equal(found.length, 2, `cut at ${cut}`);
  }
});

test("several data lines are one payload, and a broken-off frame is none", () => {
  const parser = createParser();
  assert.deepEqual(parser.push("data: a\ndata:b\n\ndata: c"), ["a\nb"]);
});

test("a response is read byte by byte, through split characters", async () => {
  const bytes = new TextEncoder().encode(STREAM);
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  const types = [];
  for await (const event of readEvents(new Response(body))) types.push(event.type);
  assert.deepEqual(types, ["A", "ü"]);
});

test("leaving the loop cancels the body, which disconnects", async () => {
  let cancelled = false;
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(STREAM)),
    cancel: () => {
      cancelled = true;
    },
  });
  for await (const event of readEvents(new Response(body))) {
    assert.equal(event.type, "A");
    break;
  }
  assert.equal(cancelled, true);
});
