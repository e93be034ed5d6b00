import type { ActivityMessage, Message } from "@ag-ui/client";
import { CopilotChatAssistantMessage, CopilotChatReasoningMessage, type ReactActivityMessageRenderer } from "@copilotkit/react-core/v2";
import { useContext, type ComponentProps, type ReactNode } from "react";
import { Shown } from "../confirm-card/Shown";
import { humanize } from "agui-gate-components/core/values.js";
import { Delegation } from "./Delegation";
import { laneOf } from "./team";
import { Lane, useRegenerate, useTeam } from "./useTeam";
import "./team.css";

/** A message where it belongs: the chat's list has all of them, and those of a task stand in its box. */
function InTeam({ message, children }: { message: Message; children: ReactNode }) {
  const lane = useContext(Lane);
  const anchored = useTeam(({ anchors, tasks }) => anchors.get(message.id)?.find((task) => tasks.get(task)?.parent === lane));
  if (anchored && anchored !== lane) return <Delegation id={anchored} />;
  return laneOf(message) === lane ? children : null;
}

/** Who speaks from here on, where that is not plain. */
function Speaker({ of }: { of: string }) {
  const name = useTeam((team) => team.speakers.get(of) ?? "");
  return name ? <p className="team-speaker" data-testid="speaker"><Shown text={humanize(name)} /></p> : null;
}

function Assistant(props: ComponentProps<typeof CopilotChatAssistantMessage>) {
  const regenerate = useRegenerate();
  const isInside = useContext(Lane) !== "";
  return (
    <InTeam message={props.message}>
      <Speaker of={props.message.id} />
      <CopilotChatAssistantMessage {...props} onRegenerate={regenerate} toolbarVisible={!isInside} />
    </InTeam>
  );
}

function Reasoning(props: ComponentProps<typeof CopilotChatReasoningMessage>) {
  return (
    <InTeam message={props.message}>
      <Speaker of={props.message.id} />
      <CopilotChatReasoningMessage {...props} />
    </InTeam>
  );
}

/** For the chat's `assistantMessage`. */
export const TeamMessage = Object.assign(Assistant, CopilotChatAssistantMessage); // the chat wants its parts, too

/** For the chat's `reasoningMessage`. */
export const TeamReasoning = Object.assign(Reasoning, CopilotChatReasoningMessage);

/** For `renderActivityMessages` of `CopilotKitProvider`: what these renderers draw, where it belongs. */
export function teamActivities<T>(renderers: readonly ReactActivityMessageRenderer<T>[]): ReactActivityMessageRenderer<T>[] {
  return renderers.map(({ render: Render, ...renderer }) => ({
    ...renderer,
    render: (props) => <InTeam message={props.message as ActivityMessage}><Render {...props} /></InTeam>,
  }));
}
