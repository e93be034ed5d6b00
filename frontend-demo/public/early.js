// Runs before everything else (a classic script in <head>).

// A chosen theme must never flash the other one.
try {
  const theme = localStorage.getItem("agui-gate.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is switched off: the system's preference applies.
}

// zod compiles its checks where it may; the server's content security policy says that it may not, so it shall not try.
globalThis.__zod_globalConfig = { jitless: true };
