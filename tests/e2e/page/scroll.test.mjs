import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { createScroller } = await page("scroll.js");

/** A part of a page that scrolls, 600 px high. The browser tells of a move later: `told()`. */
class View extends EventTarget {
  clientHeight = 600;
  scrollHeight = 600;
  #top = 0;
  get scrollTop() {
    return Math.min(this.#top, this.scrollHeight - this.clientHeight);
  }
  set scrollTop(top) {
    this.#top = top;
  }
  told = () => this.dispatchEvent(new Event("scroll"));
}

let resized; // what the page does when a part of it gets another size
globalThis.ResizeObserver = class {
  constructor(done) {
    resized = done;
  }
  observe() {}
};

function shown() {
  const view = new View();
  const button = Object.assign(new EventTarget(), { hidden: true });
  return { view, button, scroller: createScroller(view, button) };
}

test("a chat that is opened is shown from its end, also where the welcome before it didn't fit the screen", () => {
  const { view, button, scroller } = shown();
  view.scrollHeight = 700;
  scroller.jump(); // a chat is opened
  view.told();
  scroller.rest(); // its messages are not there yet, and the welcome still is
  view.told();
  view.scrollHeight = 900;
  scroller.follow();
  view.told();
  assert.deepEqual([view.scrollTop, button.hidden], [300, true]);
});

test("a telephone that is turned still shows the end, and a welcome its beginning", () => {
  const { view, scroller } = shown();
  view.scrollHeight = 700;
  scroller.rest();
  resized();
  assert.equal(view.scrollTop, 0);
  view.scrollHeight = 900;
  scroller.follow();
  view.told();
  view.scrollHeight = 1400;
  resized();
  assert.equal(view.scrollTop, 800);
});

test("who scrolls up is left alone, until there is an end to follow again", () => {
  const { view, button, scroller } = shown();
  view.scrollHeight = 900;
  scroller.jump();
  view.told();
  view.scrollTop = 100;
  view.told();
  view.scrollHeight = 1000;
  scroller.follow();
  resized();
  assert.deepEqual([view.scrollTop, button.hidden], [100, false]);
  button.dispatchEvent(new Event("click"));
  assert.deepEqual([view.scrollTop, button.hidden], [400, true]);
});
