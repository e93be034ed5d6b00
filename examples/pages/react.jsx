import { defineAguiGate } from "agui-gate-components";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

defineAguiGate(); // before anything is rendered

const getToken = () => sessionStorage.getItem("token");

/** React 19 sets properties of custom elements, and listens to their events as `on` and the event's name. */
function Approvals({ approval }) {
  const [told, setTold] = useState("");
  return (
    <agui-gate base="http://127.0.0.1:8000/" send getToken={getToken} onagui-decided={({ detail: { record } }) => setTold(`${record.tool}: ${record.state}`)}>
      {approval && <agui-confirm-card approval={approval} />}
      <agui-inbox />
      <p role="status">{told}</p>
    </agui-gate>
  );
}

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <Approvals approval={new URLSearchParams(location.search).get("approval")} />
  </StrictMode>,
);
