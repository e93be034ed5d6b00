import { useContext } from "react";
import { Icon } from "../confirm-card/Icon";
import { Shown } from "../confirm-card/Shown";
import { humanize } from "agui-gate-components/core/values.js";
import { ToolChip, type Call } from "../tool-chips";
import { Delegation } from "./Delegation";
import { handOff, type HandOff } from "./team";
import { Lane, useTeam } from "./useTeam";

/** For `ToolChips`: a call that delegates is a box with all that is done in it, and a hand-off is a line; any other call is a chip. */
export function TeamCall(call: Call) {
  const isTask = useTeam((team) => team.tasks.has(call.toolCallId ?? ""));
  const lane = useContext(Lane);
  const transfer = handOff(call.name, call.parameters, typeof call.result === "string" ? call.result : undefined);
  if (isTask && call.toolCallId && call.toolCallId !== lane) return <Delegation id={call.toolCallId} call={call} />;
  return transfer ? <Transfer {...transfer} /> : <ToolChip {...call} />;
}

const WORDS: Record<HandOff["how"], string> = { asked: "Handing over to", done: "Handed over to", refused: "Not handed over to" };

function Transfer({ to, how, why }: HandOff) {
  return (
    <p className="hand-off" data-testid="hand-off" data-to={to} data-how={how}>
      <Icon name="send" />
      <span>{WORDS[how]} <strong><Shown text={humanize(to)} /></strong>{why && <> · <Shown text={why} /></>}</span>
    </p>
  );
}
