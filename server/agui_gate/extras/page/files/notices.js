/** What went wrong, in a sentence a person can act on. */

import { h, icon, setText } from "./dom.js";

/** By code: what to do about it. The server's own message says what happened. */
const ADVICE = {
  network: "Is the server still running? Check the connection, then try again.",
  unauthorized: "Enter your token to continue.",
  forbidden: "Ask the administrator of this server.",
  not_allowed: "Ask somebody who may decide it, or sign in again if the message says so.",
  frozen: "An operator has stopped approvals of this kind. Reject the call, or wait until they are possible again.",
  not_found: "Start a new chat.",
  thread_busy: "Another answer is still in progress in this chat. Wait a moment, then try again.",
  lease_lost: "Reload the page to see what was saved, then send your message again if it was not answered.",
  interrupted: "A call that was running may have taken effect: check before you go on.",
  gone: "Start a new chat.",
  too_large: "Take the message back and send a shorter one, or start a new chat.",
  approval_pending: "Decide the open approvals first.",
  approval_refused: "The decision did not fit what was asked. Decide again, or send a new message.",
  rate_limited: "The model's provider is limiting requests. Try again in a moment.",
  provider_auth: "The server's API key was not accepted. Check the key and restart the server.",
  provider_rejected: "The model's provider refused the request. Start a new chat if it happens again.",
  provider_unavailable: "The model's provider can't be reached right now. Try again in a moment.",
  output_unfit: "Try again with a more precise request.",
  context_length: "This chat is too long for the model. Start a new chat.",
  tool_failed: "Try again, or ask for something else.",
  limit_reached: "Ask for something smaller, or start a new chat.",
  unavailable: "The server is shutting down or overloaded. Try again in a moment.",
  incomplete: "The answer broke off. Try again.",
};
const FINAL = new Set(["not_found", "gone", "context_length", "forbidden", "too_large", "unauthorized"]); // trying again alone doesn't help

const UNFIT = /^(The model's answer does not have the required form): (.*)$/s; // what follows is for whoever made the form

/** What to do about `code`, in a sentence. */
export const adviceFor = (code) => ADVICE[code] ?? "Try again. If it happens again, look at the server's log.";

export function createNotice(actions) {
  const symbol = h("span", { class: "notice-symbol" });
  const what = h("p", { class: "notice-what" });
  const advice = h("p", { class: "notice-advice" });
  const code = h("code", { class: "notice-code" });
  const label = h("span", {}, "Retry");
  const retry = h("button", { class: "button plain", type: "button", onclick: actions.retry }, icon("retry"), label);
  const token = h("button", { class: "button plain", type: "button", onclick: actions.askToken }, "Enter token");
  const back = h("button", { class: "button plain", type: "button", onclick: actions.takeBack }, "Take it back");
  const node = h("div", { class: "row notice" }, symbol, h("div", { class: "notice-text" }, what, advice), code, token, back, retry);
  return {
    node,
    update(row) {
      const stopped = row.code === "abort";
      node.classList.toggle("stopped", stopped);
      symbol.replaceChildren(icon(stopped ? "stop" : "warning"));
      const [said, ...details] = UNFIT.exec(row.message ?? "")?.slice(1) ?? [row.message];
      setText(what, stopped ? "Stopped" : said || "Something went wrong.");
      setText(advice, stopped ? "" : [adviceFor(row.code), ...details].join(" "));
      setText(code, row.code);
      code.hidden = stopped || row.code in ADVICE; // what the sentences say is not said once more
      token.hidden = row.code !== "unauthorized";
      back.hidden = row.code !== "too_large";
      setText(label, row.code === "interrupted" ? "Go on" : "Retry");
      retry.hidden = FINAL.has(row.code);
    },
  };
}
