/** A stale card settles within 3 s; nothing is asked where nobody looks; a server that fails is left in peace. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { createPoller } = await page("poll.js");

/** A watch with a clock of its own: `run(ms)` lets time pass, `looks` counts. */
function watched({ waits = true, visible = true, answers = () => false } = {}) {
  const world = { waits, visible, looks: 0, time: 0, timer: null };
  world.watch = createPoller({
    look: async () => answers((world.looks += 1)),
    waits: () => world.waits,
    isVisible: () => world.visible,
    later: (act, delay) => (world.timer = { act, at: world.time + delay }),
    forget: () => (world.timer = null),
  });
  world.run = async (ms) => {
    const end = world.time + ms;
    while (world.timer && world.timer.at <= end) {
      const { act, at } = world.timer;
      [world.timer, world.time] = [null, at];
      act();
      await new Promise(setImmediate);
    }
    world.time = end;
  };
  world.watch.update();
  return world;
}

test("a card that waits is looked at within 3 s, again and again, and a change is followed up", async () => {
  const world = watched();
  await world.run(3000);
  assert.equal(world.looks, 2);
});

test("where nothing waits it still looks, every ten seconds; what begins to wait is looked at soon", async () => {
  const world = watched({ waits: false });
  await world.run(60_000);
  assert.equal(world.looks, 6);
  world.waits = true;
  world.watch.update();
  await world.run(3000);
  assert.equal(world.looks, 8);
});

test("a hidden page looks at nothing, and at once when somebody is back", async () => {
  const world = watched({ visible: false });
  await world.run(60_000);
  assert.equal(world.looks, 0);
  world.visible = true;
  world.watch.back();
  assert.equal(world.looks, 1);
});

test("something that happened elsewhere may go on: it looks a few times more", async () => {
  const world = watched({ answers: (looks) => looks === 1 });
  await world.run(1500);
  world.waits = false;
  await world.run(15_000);
  assert.equal(world.looks, 11);
  await world.run(60_000);
  assert.equal(world.looks, 17, "then seldom again");
});

test("a server that doesn't answer is asked less and less", async () => {
  const world = watched({ answers: () => Promise.reject(new Error("away")) });
  await world.run(120_000);
  assert.ok(world.looks >= 6 && world.looks <= 8, String(world.looks));
});

test("after ten minutes in which nobody stirred it looks seldom, and soon again when somebody does", async () => {
  const world = watched();
  await world.run(11 * 60_000);
  const before = world.looks;
  await world.run(60_000);
  assert.equal(world.looks - before, 6);
  world.watch.stir();
  assert.equal(world.looks - before, 7);
});

test("what happened is looked at without waiting; what happens during a look, right after it, and once", async () => {
  const world = watched({ waits: false });
  world.watch.now();
  assert.equal(world.looks, 1);
  for (let more = 0; more < 30; more += 1) world.watch.now();
  await new Promise(setImmediate);
  await world.run(1000);
  assert.equal(world.looks, 2);
  await world.run(9000);
  assert.equal(world.looks, 2, "then seldom again");
  world.visible = false;
  world.watch.now();
  assert.equal(world.looks, 2, "for nobody");
});
