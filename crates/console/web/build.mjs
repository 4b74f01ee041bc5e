// Makes `dist/` of `src/`: `npm run build`, or `node build.mjs FOLDER` for another folder. The output is the same on every machine.
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync, constants } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? join(here, "..", "dist");
mkdirSync(out, { recursive: true });
const shared = { bundle: true, minify: true, legalComments: "inline", charset: "utf8", absWorkingDir: here, write: false };
const script = await build({ ...shared, entryPoints: ["src/main.ts"], format: "esm", target: "es2022" });
const packed = gzipSync(script.outputFiles[0].contents, { level: constants.Z_BEST_COMPRESSION });
packed[9] = 255; // The system that packed it is nobody's business, and differs.
writeFileSync(join(out, "app.js.gz"), packed);
const style = await build({ ...shared, entryPoints: ["src/style.css"] });
writeFileSync(join(out, "app.css"), style.outputFiles[0].contents);
for (const name of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", name), join(out, name));
if (process.argv.includes("--size")) console.log(`script ${script.outputFiles[0].contents.length} bytes, packed ${packed.length}`);
