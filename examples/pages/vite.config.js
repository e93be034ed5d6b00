import { svelte } from "@sveltejs/vite-plugin-svelte";
import react from "@vitejs/plugin-react";
import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  plugins: [react(), svelte(), vue({ template: { compilerOptions: { isCustomElement: (tag) => tag.startsWith("agui-") } } })],
  resolve: { dedupe: ["lit"] }, // one copy, also beside the checkout's own
  build: { rollupOptions: { input: ["react.html", "svelte.html", "vue.html"] } },
});
