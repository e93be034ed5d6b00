const gate = document.querySelector("agui-gate");

gate.getToken = () => sessionStorage.getItem("token"); // null: none, as on a server without authentication

const approval = new URLSearchParams(location.search).get("approval");
if (approval) Object.assign(document.querySelector("agui-confirm-card"), { approval, hidden: false });

gate.addEventListener("agui-decided", ({ detail: { record } }) => {
  document.querySelector("#told").textContent = `${record.tool}: ${record.state}`;
});
gate.addEventListener("agui-problem", ({ detail: { kind } }) => {
  if (kind === "unauthorized") document.querySelector("#told").textContent = "Log in first.";
});
