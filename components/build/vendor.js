/**
 * Makes `vendor/lit.js`: what the elements use of the pinned lit, in one file. A checkout without Node serves it, and so
 * does a bundle's page; `components/test/package.test.js` says that it is what the pinned package gives.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL("..", import.meta.url));

/** @returns {Promise<string>} the text of `vendor/lit.js` */
export async function vendored() {
  const made = await build({
    entryPoints: ["build/lit.js"],
    absWorkingDir: here,
    bundle: true,
    format: "esm",
    target: "es2021",
    minify: true,
    write: false,
    legalComments: "none",
    // What lit asks for while it is read, so that the file can be imported in Node too.
    inject: ["build/globals.js"],
    banner: { js: `// lit ${await version()}, (c) Google LLC, BSD-3-Clause: see LICENSE-lit. Made by \`npm run vendor\`.` },
  });
  return /** @type {{ text: string }} */ (made.outputFiles[0]).text;
}

/** @returns {Promise<string>} the version of lit that is installed */
async function version() {
  return JSON.parse(await readFile(`${here}/node_modules/lit/package.json`, "utf8")).version;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  await writeFile(`${here}/vendor/lit.js`, await vendored());
