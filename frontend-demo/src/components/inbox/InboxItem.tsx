import { useEffect, useRef, useState, useSyncExternalStore, type ComponentProps } from "react";
import { fromApproval } from "agui-gate-components/core/asks.js";
import { endOf, everySecond, formatLeft, secondsLeft } from "agui-gate-components/core/countdown.js";
import { atTime, decisionLine, isClosed, undecided } from "agui-gate-components/core/records.js";
import { serverNow } from "agui-gate-components/core/servertime.js";
import { unitsFor } from "agui-gate-components/core/units.js";
import { Card, GoneLine, Ledger, RecordLine, type Ask, type Decision } from "../confirm-card";
import { LedgerStore } from "../confirm-card/Ledger";
import { Shown } from "../confirm-card/Shown";
import { humanize, summary } from "agui-gate-components/core/values.js";
import { waits, type Entry, type InboxStore } from "./store";

interface Props {
  entry: Entry;
  store: InboxStore;
  /** Open from the beginning: where it is the only one. */
  startsOpen: boolean;
  /** The agent that asks, where it is not the one that the page talks to. */
  agent?: string;
  /** Which chat it is in, in words. */
  where: string;
  onOpenChat: (threadId: string) => void;
}

/** A waiting call in two lines, which open to all there is to see and to the decision; afterwards, what became of it. */
export function InboxItem({ entry, store, startsOpen, agent, where, onOpenChat }: Props) {
  const { record } = entry;
  const [isOpen, setOpen] = useState(startsOpen);
  const [isUnsent, setUnsent] = useState(false);
  const line = useRef<HTMLElement>(null);
  const decide = (decision: Decision) => {
    line.current?.focus(); // the button that had the focus goes
    void store.decide(record.id, decision);
  };
  return (
    <details className="inbox-item" data-testid="inbox-item" data-tool={record.tool} data-waits={waits(entry)} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary ref={line}>
        <span className="inbox-what"><strong><Shown text={humanize(record.tool)} /></strong> <Shown text={summary(record.arguments, unitsFor(record.arguments, record))} /></span>
        <span className="inbox-facts">
          {agent && <span><Shown text={humanize(agent)} /> asks</span>}
          <Shown text={where} />
          {record.state === "pending" && <span>asked{atTime(record.asked_at)}</span>}
          {!isOpen && <Stand entry={entry} />}
        </span>
      </summary>
      <div className="inbox-body">
        <div role="status"><Outcome entry={entry} isUnsent={isUnsent && !entry.mine} agent={agent} /></div>
        {isOpen && record.state === "pending" && !entry.isGone && (
          <div hidden={!waits(entry)}>
            <Question entry={entry} store={store} agent={agent} onDecide={decide} onLeave={() => setUnsent(isClosed(store.entries().find((one) => one.record.id === record.id)?.record))} />
          </div>
        )}
        {!entry.isGone && (
          <p className="inbox-chat">
            {waits(entry) && record.editable.length > 0 && <span>To change the arguments, open the chat.</span>}
            <button className="gate-button" type="button" onClick={() => onOpenChat(record.thread_id)}>Open chat</button>
          </p>
        )}
      </div>
    </details>
  );
}

function Question({ entry, store, agent, ...given }: Pick<Props, "entry" | "store" | "agent"> & Pick<ComponentProps<typeof Card>, "onDecide" | "onLeave">) {
  const ledger = useChatLedger(store, entry.record.thread_id);
  return <Ledger store={ledger}><Card ask={toAsk(entry, agent)} {...given} /></Ledger>;
}

/** The records of its chat, so that the card says what already ran there; read again when another call of it is closed. */
function useChatLedger(store: InboxStore, threadId: string): LedgerStore {
  const [ledger] = useState(() => new LedgerStore());
  const states = () => store.entries().flatMap(({ record }) => (record.thread_id === threadId ? [record.state] : [])).join();
  const now = useSyncExternalStore(store.subscribe, states);
  useEffect(() => void store.calls(threadId).then((calls) => calls && ledger.take(calls, false)), [store, ledger, threadId, now]);
  return ledger;
}

/** Editing needs the tool's schema, which the chat has. */
const toAsk = ({ record, problem }: Entry, agent?: string): Ask => ({ ...fromApproval({ ...record, editable: [], refused: problem }), agent });

function Outcome({ entry: { record, mine, isLate, isGone, note }, isUnsent, agent }: Pick<Props, "entry" | "agent"> & { isUnsent: boolean }) {
  if (isGone) return <GoneLine />;
  if (record.state === "pending") return mine ? <Card ask={toAsk({ record }, agent)} sent={mine} /> : null;
  return (
    <>
      <RecordLine record={record} mine={mine} late={isLate} isUnsent={isUnsent} agent={agent} />
      {note && <p className="inbox-note">The conversation doesn't go on yet. {note}</p>}
    </>
  );
}

/** How it stands, while it is closed. */
function Stand({ entry }: Pick<Props, "entry">) {
  if (entry.isGone) return <span>this chat was deleted</span>;
  if (entry.record.state !== "pending") return <Shown text={decisionLine(entry.record) ?? undecided(entry.record)} />;
  return waits(entry) ? <Left until={entry.record.expires_at} /> : <span>your answer is on its way</span>;
}

function Left({ until }: { until: string | null }) {
  const end = endOf(until);
  const [, redraw] = useState({});
  useEffect(() => everySecond(() => redraw({})), []);
  if (end === null) return null;
  const left = secondsLeft(end, serverNow());
  return <span className="inbox-left">{left === 0 ? "Expired" : `Expires in ${formatLeft(left)}`}</span>;
}
