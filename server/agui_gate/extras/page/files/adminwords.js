/** What the page of operators says, in English and German. */

import { wordsFor as deskWords } from "./approvalwords.js";
import { reveal } from "./components/core/reveal.js";
import { fill } from "./components/core/strings.js";
import { lang } from "./desk.js";

const ENGLISH = {
  title: "Operations", inbox: "Inbox", audit: "Audit", chat: "Chats", refresh: "Read again", readAt: "As of {at}",
  running: "In flight", unknown: "Unknown outcome", orphaned: "Orphaned", waiting: "Waiting", frozen: "Frozen", budgets: "Limits and budgets", usage: "Used today", holds: "In the store", server: "Server",
  otherToken: "Use another token", lost: "Lost", notices: "Not told yet", ofAll: "These figures are of all tenants, the lists are of yours. agui-gate ops on the store lists all.", oldest: "oldest {age}",
  runningText: "What holds a thread, on all replicas. Lost: its process died, or hangs.", unknownText: "Nobody knows whether these took effect. Look it up in the system that the tool changes, then settle them.",
  orphanedText: "Approved, but the process that ran them is gone, or hangs; if it hangs, end it. A server on this store then settles them within half a minute.", waitingText: "People are asked. They decide in the inbox.",
  frozenText: "Nobody can approve these calls until the freeze is lifted. They can be rejected.", nothing: "None.", draining: "This server takes nothing new: it was told to end.", isFrozen: "Approvals are frozen.",
  more: "There are more. {command} lists them.", shownOf: "{shown} of {count} are shown. {command} lists all.", lostLine: "process died, or hangs", kindOf: { run: "run", decision: "decision" },
  thread: "thread {id}", run: "run {id}", saved: "saved {at}", asked: "asked {at}", until: "until {at}", key: "Idempotency key", story: "Story", decide: "Open",
  stop: "Stop …", stopTitle: "Stop what is at work on this thread?", stopYes: "Stop it", stopped: { stopped: "It has stopped.", asked: "It was asked to stop, and hasn't ended yet.", idle: "Nothing was at work any more.", lost: "Its process has died, or hangs, and has lost the thread. If it hangs, end it: SIGKILL." },
  settle: "Settle …", settleTitle: "What came of this call?", settleText: "The tool does not run. The model reads this in the thread's next run.", tookEffect: "It took effect", noEffect: "It did not take effect", found: "What was found out", settleYes: "Settle it", settled: "Settled.",
  freeze: "Freeze …", freezeTitle: "Freeze approvals", freezeText: "Without a tool or an agent, all calls are frozen.", ofTool: "Only this tool", ofAgent: "Only this agent", freezeYes: "Freeze", froze: "Frozen.", all: "all calls",
  lift: "Lift …", liftTitle: "Lift this freeze?", liftYes: "Lift it", lifted: "Lifted.", why: "Reason (kept in the audit trail)",
  scopes: { run: "each run", principal: "each owner, a day", tenant: "the tenant, a day", all: "everybody, a day", process: "this process" }, usedOf: "{used} of {most}", most: "at most {most}", tokens: "{count} tokens", noUsage: "Usage is not kept. AGUI_GATE_USAGE=on keeps it.",
  model: "Model", requests: "Requests", failures: "Failed", input: "Input", output: "Output", cost: "Cost", isPart: "There is too much to be read: these are a part of it.",
  sizes: { threads: "threads", bytes: "bytes of threads", approvals: "gated calls", pending: "of them waiting", events: "events of the trail", tombstones: "tombstones", notices: "notices not told yet" }, noSizes: "Not told to operators of one tenant.",
  version: "Version", revision: "Commit", schema: "Schema", store: "Store", bus: "Bus", processes: "Processes on the store", runsHere: "Runs of this process", notKnown: "not known",
  replicas: "Replicas", host: "Host", process: "Process", thisOne: "this one", halfDone: "Not all replicas say that they are of one release.", silent: "{count} that don't say it: of an older release, or not reached.",
  ops: [["r", "read again"], ["f", "freeze approvals"], ["?", "these keys"]],
};

const GERMAN = {
  title: "Betrieb", inbox: "Eingang", audit: "Protokoll", chat: "Chats", refresh: "Neu lesen", readAt: "Stand {at}",
  running: "In Arbeit", unknown: "Ausgang unbekannt", orphaned: "Verwaist", waiting: "Wartet", frozen: "Eingefroren", budgets: "Grenzen und Budgets", usage: "Heute verbraucht", holds: "Im Speicher", server: "Server",
  otherToken: "Anderes Token verwenden", lost: "Verloren", notices: "Noch nicht gemeldet", ofAll: "Diese Zahlen sind von allen Mandanten, die Listen von Ihrem. agui-gate ops am Speicher listet alles auf.", oldest: "ältester seit {age}",
  runningText: "Was einen Thread hält, auf allen Replikaten. Verloren: sein Prozess ist tot, oder hängt.", unknownText: "Niemand weiß, ob diese wirkten. Sehen Sie in dem System nach, das das Werkzeug ändert, und klären Sie sie dann.",
  orphanedText: "Freigegeben, und der Prozess, der sie ausführte, ist weg, oder hängt: beenden Sie ihn dann. Ein Server an diesem Speicher klärt sie in einer halben Minute.", waitingText: "Menschen sind gefragt. Entschieden wird im Eingang.",
  frozenText: "Niemand kann diese Aufrufe freigeben, bis das aufgehoben ist. Ablehnen geht.", nothing: "Keine.", draining: "Dieser Server nimmt nichts Neues an: er soll enden.", isFrozen: "Freigaben sind eingefroren.",
  more: "Es gibt mehr. {command} listet sie auf.", shownOf: "{shown} von {count} sind zu sehen. {command} listet alle auf.", lostLine: "Prozess tot, oder hängt", kindOf: { run: "Lauf", decision: "Entscheidung" },
  thread: "Thread {id}", run: "Lauf {id}", saved: "gesichert {at}", asked: "gefragt {at}", until: "bis {at}", key: "Idempotenzschlüssel", story: "Verlauf", decide: "Öffnen",
  stop: "Anhalten …", stopTitle: "Anhalten, was an diesem Thread arbeitet?", stopYes: "Anhalten", stopped: { stopped: "Es hat angehalten.", asked: "Es soll anhalten, und läuft noch.", idle: "Es lief nichts mehr.", lost: "Sein Prozess ist tot, oder hängt, und hat den Thread verloren. Hängt er, beenden Sie ihn: SIGKILL." },
  settle: "Klären …", settleTitle: "Was wurde aus diesem Aufruf?", settleText: "Das Werkzeug läuft nicht. Das Modell liest dies im nächsten Lauf des Threads.", tookEffect: "Er hat gewirkt", noEffect: "Er hat nicht gewirkt", found: "Was herausgefunden wurde", settleYes: "Klären", settled: "Geklärt.",
  freeze: "Einfrieren …", freezeTitle: "Freigaben einfrieren", freezeText: "Ohne Werkzeug und Agent werden alle Aufrufe eingefroren.", ofTool: "Nur dieses Werkzeug", ofAgent: "Nur dieser Agent", freezeYes: "Einfrieren", froze: "Eingefroren.", all: "alle Aufrufe",
  lift: "Aufheben …", liftTitle: "Das Einfrieren aufheben?", liftYes: "Aufheben", lifted: "Aufgehoben.", why: "Begründung (steht im Protokoll)",
  scopes: { run: "jeder Lauf", principal: "jeder Eigner, am Tag", tenant: "der Mandant, am Tag", all: "alle, am Tag", process: "dieser Prozess" }, usedOf: "{used} von {most}", most: "höchstens {most}", tokens: "{count} Token", noUsage: "Verbrauch wird nicht gespeichert. AGUI_GATE_USAGE=on tut es.",
  model: "Modell", requests: "Anfragen", failures: "Gescheitert", input: "Eingabe", output: "Ausgabe", cost: "Kosten", isPart: "Es ist zu viel zu lesen: dies ist ein Teil davon.",
  sizes: { threads: "Threads", bytes: "Bytes der Threads", approvals: "Aufrufe mit Gate", pending: "davon wartend", events: "Ereignisse des Protokolls", tombstones: "Grabsteine", notices: "noch nicht gemeldet" }, noSizes: "Wird Betreibern eines Mandanten nicht gesagt.",
  version: "Version", revision: "Commit", schema: "Schema", store: "Speicher", bus: "Bus", processes: "Prozesse am Speicher", runsHere: "Läufe dieses Prozesses", notKnown: "nicht bekannt",
  replicas: "Replikate", host: "Rechner", process: "Prozess", thisOne: "dieses hier", halfDone: "Nicht alle Replikate nennen denselben Stand.", silent: "{count} sagen es nicht: ein älterer Stand, oder nicht erreicht.",
  ops: [["r", "neu lesen"], ["f", "Freigaben einfrieren"], ["?", "diese Tasten"]],
};

export const wordsFor = (lang) => ({ ...deskWords(lang), ...(lang === "de" ? GERMAN : ENGLISH) });

/** The words in the person's language; one with its blanks filled in; a number, and what stands in one line. */
export const words = wordsFor(lang);
export const say = (key, blanks) => fill(words, key, blanks);
export const number = (value) => value.toLocaleString(lang);
export const line = (...parts) => reveal(parts.filter(Boolean).join(" · "));
