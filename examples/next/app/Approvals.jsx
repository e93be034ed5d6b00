"use client";

// On the server the import does nothing. React takes over what was rendered there without properties and without listeners: both are set here.
import { defineAguiGate } from "agui-gate-components";
import { useEffect, useRef, useState } from "react";

defineAguiGate(); // without a DOM it does nothing

export function Approvals({ base, approval }) {
  const gate = useRef(null);
  const [told, setTold] = useState("");
  useEffect(() => {
    const { current } = gate;
    const tell = ({ detail: { record } }) => setTold(`${record.tool}: ${record.state}`);
    current.getToken = () => sessionStorage.getItem("token");
    current.addEventListener("agui-decided", tell);
    return () => current.removeEventListener("agui-decided", tell);
  }, []);
  return (
    <agui-gate ref={gate} base={base} send>
      {approval && <agui-confirm-card approval={approval}>This card needs JavaScript.</agui-confirm-card>}
      <agui-inbox />
      <p role="status">{told}</p>
    </agui-gate>
  );
}
