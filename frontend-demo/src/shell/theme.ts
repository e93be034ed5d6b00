import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const KEY = "agui-gate.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

/** The theme on screen: the chosen one, else the system's. */
export function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light";
}

/** Choose a theme; remembered where there is storage. */
export function setTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Storage is switched off: it lasts for this visit.
  }
  apply();
}

/** CopilotKit's styles go by a class. */
function apply(): void {
  document.documentElement.classList.toggle("dark", currentTheme() === "dark");
  for (const listener of listeners) listener();
}

system.addEventListener("change", apply);
apply();

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, currentTheme);
}
