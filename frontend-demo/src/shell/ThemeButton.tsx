import { Icon } from "../components/confirm-card/Icon";
import { setTheme, useTheme } from "./theme";

export function ThemeButton() {
  const other = useTheme() === "dark" ? "light" : "dark";
  return (
    <button className="icon-button" type="button" aria-label={`Use the ${other} theme`} onClick={() => setTheme(other)}>
      <Icon name={other === "light" ? "sun" : "moon"} />
    </button>
  );
}
