"use client";

// A page of Next.js (`app/approvals/page.jsx`), or of anything else that renders on the server: importing the package does
// nothing there, and the elements come to life in the browser. Pass nothing but attributes before that.
import { defineAguiGate } from "agui-gate-components";
import { useEffect, useRef } from "react";

defineAguiGate(); // without a DOM it does nothing

export default function Approvals({ approval }) {
  const gate = useRef(null);
  useEffect(() => {
    gate.current.getToken = () => sessionStorage.getItem("token");
  }, []);
  return (
    <agui-gate ref={gate} base="http://127.0.0.1:8000/" send>
      {approval && <agui-confirm-card approval={approval}>This card needs JavaScript.</agui-confirm-card>}
      <agui-inbox />
    </agui-gate>
  );
}
