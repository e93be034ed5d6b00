import { useFrontendTool } from "@copilotkit/react-core/v2";
import { z } from "zod";
import { ToolChip } from "../components/tool-chips";
import { setTheme, type Theme } from "./theme";

/** A tool that runs in the page: the agent may switch between light and dark. */
export function ThemeTool() {
  useFrontendTool<{ theme: Theme }>({
    name: "set_theme",
    description: "Switch this page to the light or the dark theme.",
    parameters: z.object({ theme: z.enum(["light", "dark"]) }),
    handler: async ({ theme }) => {
      setTheme(theme);
      return { theme };
    },
    render: ({ name, args, status, result }) => <ToolChip name={name} parameters={args} status={status} result={result} />,
  });
  return null;
}
