/** The elements, defined before anything is rendered, and their properties for JSX. React 19 sets properties, and listens to events as `on` and their names. */

import { defineAguiGate, type Ask, type CallRecord as Told, type Decision } from "agui-gate-components";
import type { DetailedHTMLProps, HTMLAttributes } from "react";

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
  ask: Ask;
  sent?: Decision | null;
  density?: "compact";
  "onagui-decide"?: (event: CustomEvent<{ decision: Decision }>) => void;
  "onagui-leave"?: () => void;
}

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "agui-confirm-card": Tag<Card>;
      "agui-decision-line": Tag<Line>;
    }
  }
}
