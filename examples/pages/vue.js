import { defineAguiGate } from "agui-gate-components";
import { createApp } from "vue";
import Approvals from "./Approvals.vue";

defineAguiGate(); // before anything is rendered; vite.config.js tells Vue which tags are elements
createApp(Approvals, { approval: new URLSearchParams(location.search).get("approval") }).mount("#root");
