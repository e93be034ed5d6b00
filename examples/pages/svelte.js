import { defineAguiGate } from "agui-gate-components";
import { mount } from "svelte";
import Approvals from "./Approvals.svelte";

defineAguiGate(); // before anything is rendered
mount(Approvals, { target: document.getElementById("root"), props: { approval: new URLSearchParams(location.search).get("approval") } });
