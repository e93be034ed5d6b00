// A page that knows nothing of agui-gate: CopilotKit's own chat and its own interrupt hook.
import { CopilotChat, CopilotKitProvider, useInterrupt } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { createRoot } from "react-dom/client";

const button = { border: "1px solid", borderRadius: 8, padding: "2px 12px" };

function Interrupts() {
  useInterrupt({
    render: ({ interrupts, resolve }) => (
      <div>
        {interrupts.map(({ id, message }) => (
          <p key={id}>
            {message} <button style={button} onClick={() => void resolve({ approved: true }, id)}>Yes</button>{" "}
            <button style={button} onClick={() => void resolve({ approved: false }, id)}>No</button>
          </p>
        ))}
      </div>
    ),
  });
  return null;
}

createRoot(document.getElementById("root")!).render(
  <CopilotKitProvider runtimeUrl="../copilotkit" enableInspector={false}>
    <Interrupts />
    <div style={{ height: "100vh" }}>
      <CopilotChat />
    </div>
  </CopilotKitProvider>,
);
