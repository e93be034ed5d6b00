// CopilotKit's chat, in which the element is the card: of an interrupt, and of the tool `confirm_changes` (`?hitl=card`).
import { CopilotChat, CopilotKitProvider, useHumanInTheLoop, useInterrupt } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { defineAguiGate, fromCard, fromCardAnswer, fromInterrupt, toCardAnswer, toPayload } from "agui-gate-components";
import { createRoot } from "react-dom/client";
import { z } from "zod";

defineAguiGate(); // before anything is rendered

function Interrupts() {
  useInterrupt({
    render: ({ interrupts, resolve, cancel }) => interrupts.map((interrupt) => {
      const decide = ({ detail: { ask, decision } }) => {
        const payload = toPayload(ask, decision); // null: a question that is not answered
        void (payload ? resolve(payload, interrupt.id) : cancel(interrupt.id));
      };
      return <agui-confirm-card key={interrupt.id} ask={fromInterrupt(interrupt)} onagui-decide={decide} />;
    }),
  });
}

function Cards() {
  useHumanInTheLoop({
    name: "confirm_changes",
    description: "Show a confirm card for a call and wait for the person's decision.",
    parameters: z.object({ function_name: z.string(), function_call_id: z.string(), function_arguments: z.record(z.string(), z.unknown()), steps: z.array(z.unknown()) }),
    render: ({ toolCallId, args, respond, result }) => {
      const decide = ({ detail: { ask, decision } }) => void respond?.(toCardAnswer(ask, decision));
      return <agui-confirm-card ask={fromCard(args, toolCallId)} sent={fromCardAnswer(result)} onagui-decide={decide} />;
    },
  });
}

const Asking = new URLSearchParams(location.search).get("hitl") === "card" ? Cards : Interrupts;
createRoot(document.getElementById("root")).render(
  <CopilotKitProvider runtimeUrl="../copilotkit" enableInspector={false}>
    <Asking />
    <CopilotChat />
  </CopilotKitProvider>,
);
