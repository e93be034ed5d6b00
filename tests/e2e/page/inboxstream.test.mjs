/** The stream of what waits: one while somebody sees the page, none else; it comes back by itself. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { createInboxStream } = await page("inboxstream.js");
const { readEvents } = await page("sse.js");

const settle = () => new Promise(setImmediate);

/** A stream that tells what `send` is given, until it is ended or left; `deaf`: what is under way still comes then. */
function createStream(signal, heard, deaf) {
  const body = new TransformStream();
  const writer = body.writable.getWriter();
  const left = () => writer.abort(signal.reason).catch(() => {});
  if (!deaf) signal.addEventListener("abort", left);
  const write = (text) => writer.write(new TextEncoder().encode(text)).then(settle);
  return {
    isOpen: () => !signal.aborted,
    events: readEvents(new Response(body.readable), heard),
    send: (data) => write(`event: x\ndata: ${JSON.stringify(data)}\n\n`),
    ping: () => write(": ping\n\n"),
    end: () => writer.close().then(settle),
  };
}

/** A follower with a clock of its own and no chance; `streams` are those it has opened, `news` counts what it was told. */
function following({ wanted = true, deaf = false, refuses = () => false } = {}) {
  const world = { wanted, refuses, streams: [], news: 0, lost: 0, time: 0 };
  let timers = [];
  world.follower = createInboxStream({
    async *open(signal, heard) {
      const stream = createStream(signal, heard, deaf);
      world.streams.push(stream);
      if (world.refuses()) throw new Error("refused");
      yield* stream.events;
    },
    onNews: () => (world.news += 1),
    onLost: () => (world.lost += 1),
    isWanted: () => world.wanted,
    later(act, delay) {
      const timer = { act, at: world.time + delay };
      timers.push(timer);
      return timer;
    },
    forget: (timer) => (timers = timers.filter((each) => each !== timer)),
    now: () => world.time,
    random: () => 1,
  });
  world.run = async (ms) => {
    const end = world.time + ms;
    for (let next = due(); next; next = due()) {
      timers = timers.filter((each) => each !== next);
      world.time = next.at;
      next.act();
      await settle();
    }
    world.time = end;
    function due() {
      return timers.filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0];
    }
  };
  world.open = () => world.streams.filter((stream) => stream.isOpen()).length;
  world.last = () => world.streams.at(-1);
  world.follower.update();
  return world;
}

test("what waits at first is one piece of news, and each change after that is one", async () => {
  const world = following();
  await world.last().send({ id: "1", state: "pending" });
  await world.last().send({ id: "2", state: "pending" });
  assert.deepEqual([world.news, world.follower.isLive()], [0, false]);
  await world.last().send({ ids: ["1", "2"] });
  assert.deepEqual([world.news, world.follower.isLive()], [1, true]);
  await world.last().send({ id: "1", state: "done" });
  await world.last().send({ id: "2" });
  assert.equal(world.news, 3);
});

test("a page that is hidden lets its stream go and opens none; it follows at once when it is seen, and has one at most", async () => {
  const world = following();
  await world.last().send({ ids: [] });
  world.wanted = false;
  world.follower.back();
  assert.deepEqual([world.open(), world.lost, world.follower.isLive()], [0, 1, false]);
  await world.run(10 * 60_000);
  assert.equal(world.streams.length, 1);
  world.wanted = true;
  for (let times = 0; times < 3; times += 1) world.follower.back();
  world.follower.update();
  assert.deepEqual([world.open(), world.streams.length], [1, 2]);
});

test("a stream that ends is opened again, soon; what changed meanwhile is looked for", async () => {
  const world = following();
  await world.last().send({ ids: [] });
  await world.run(20_000);
  await world.last().ping();
  await world.run(20_000);
  await world.last().end();
  assert.deepEqual([world.lost, world.follower.isLive()], [1, false]);
  await world.run(1000);
  assert.equal(world.streams.length, 2);
  await world.last().send({ ids: [] });
  assert.deepEqual([world.news, world.follower.isLive()], [2, true]);
});

test("a server that refuses it is tried less and less; who comes back tries at once", async () => {
  const world = following({ refuses: () => true });
  await settle();
  await world.run(61_000);
  assert.equal(world.streams.length, 5, "at 0, 2, 6, 14 and 30 s");
  assert.deepEqual([world.news, world.lost], [0, 0]);
  await world.run(10 * 60_000);
  assert.equal(world.streams.length, 15, "then each minute");
  world.refuses = () => false;
  world.follower.back();
  assert.equal(world.streams.length, 16);
});

test("what ends a stream as soon as it has begun is tried less and less too", async () => {
  const world = following();
  for (const [delay, streams] of [[2000, 2], [4000, 3], [8000, 4], [16_000, 5]]) {
    await world.last().send({ ids: [] });
    await world.last().end();
    await world.run(delay - 1);
    assert.equal(world.streams.length, streams - 1);
    await world.run(1);
    assert.equal(world.streams.length, streams);
  }
});

test("a stream that says nothing for long is given up; a comment is a sign of life", async () => {
  const world = following();
  await world.last().send({ ids: [] });
  for (let times = 0; times < 10; times += 1) {
    await world.run(15_000);
    await world.last().ping();
  }
  assert.deepEqual([world.streams.length, world.follower.isLive()], [1, true]);
  await world.run(46_000);
  assert.deepEqual([world.streams.length, world.open(), world.lost], [2, 1, 1]);
});

test("where the person becomes another one, what was followed is let go, and theirs is followed", async () => {
  const world = following({ deaf: true });
  await world.last().send({ ids: [] });
  world.follower.renew();
  assert.deepEqual([world.open(), world.streams.length, world.follower.isLive()], [1, 2, false]);
  await world.streams[0].send({ ids: ["1"] });
  assert.deepEqual([world.news, world.follower.isLive()], [1, false]);
  await world.last().send({ ids: [] });
  assert.deepEqual([world.news, world.follower.isLive()], [2, true]);
});

test("nobody is followed before it is known who is there", async () => {
  const world = following({ wanted: false });
  await world.run(60_000);
  assert.equal(world.streams.length, 0);
});
