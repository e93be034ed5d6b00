// Asks for what the page shows while the page is still on its way (a classic script in <head>): over a slow line that is
// a second earlier. `call` in api.js takes the answers over, each once.
{
  const thread = new URLSearchParams(location.hash.slice(1)).get("t");
  let token = null;
  try {
    token = sessionStorage.getItem("agui-gate.token");
  } catch {
    // Storage is switched off: there is no token.
  }
  globalThis.aguiGateEarly = new Map(
    ["agents", thread && `threads/${encodeURIComponent(thread)}`].filter(Boolean).map((path) => {
      const controller = new AbortController();
      const answer = fetch(path, { signal: controller.signal, headers: token ? { Authorization: `Bearer ${token}` } : {} });
      answer.catch(() => {}); // told to whoever wants it
      return [path, { answer, controller }];
    }),
  );
}
