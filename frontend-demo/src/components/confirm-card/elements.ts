/** The elements, defined before anything is rendered, and their properties for JSX. React 19 sets properties, and listens to events as `on` and their names. */

import { defineAguiGate, type Ask, type Inbox, type CallRecord as Told, type Decision } from "agui-gate-components";
import type { DetailedHTMLProps, HTMLAttributes, Ref } from "react";

defineAguiGate();

/** One of `calls` in `GET /threads/{id}?view=calls`; `GET /approvals/{id}` answers the same. */
export type CallRecord = Required<Told>;
export type { Ask, Decision };

type Tag<Properties> = DetailedHTMLProps<HTMLAttributes<HTMLElement>, HTMLElement> & Properties;

interface Line {
  record: CallRecord;
  mine?: Decision | null;
  late?: boolean;
  unsent?: boolean;
  left?: boolean;
  agent?: string | null;
  call?: boolean;
}

interface Card {
  /** Inside a gate: which call. Without one, `ask` says what is asked. */
  approval?: string;
  ask?: Ask;
  record?: CallRecord | null;
  sent?: Decision | null;
  density?: "compact";
  "onagui-decide"?: (event: CustomEvent<{ decision: Decision }>) => void;
  "onagui-leave"?: () => void;
}

interface Gate {
  base: string;
  send?: boolean;
  /** Seconds between looks for the calls of others that this person may decide. */
  look?: number;
  getToken?: () => string | null | undefined | Promise<string | null | undefined>;
  "onagui-count"?: (event: CustomEvent<{ count: number; more: boolean; heading: string }>) => void;
  "onagui-decided"?: (event: CustomEvent<{ record: CallRecord; run: string | null }>) => void;
  "onagui-problem"?: (event: CustomEvent<{ kind: string | null; message: string }>) => void;
}

interface List {
  ref?: Ref<Inbox>;
  chats?: boolean;
  current?: string;
  "onagui-open-chat"?: (event: CustomEvent<{ thread: string }>) => void;
}

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "agui-confirm-card": Tag<Card>;
      "agui-decision-line": Tag<Line>;
      "agui-gate": Tag<Gate>;
      "agui-inbox": Omit<Tag<List>, "ref"> & Pick<List, "ref">;
    }
  }
}
