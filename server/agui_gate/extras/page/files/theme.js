// Runs before the first paint (a classic script in <head>), so that a chosen theme never flashes the other one.
try {
  const theme = localStorage.getItem("agui-gate.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is switched off: the system's preference applies.
}
