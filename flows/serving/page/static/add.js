// Add: upload files or name a folder or URL, and see what the run does with them.
import { html, useEffect, useState } from "./vendor/preact-htm.js";
import { ask, sendPiece } from "./ask.js";
import { Bar, Failure } from "./parts.js";
import { go, link } from "./state.js";
import { number, percent, plural } from "./words.js";

const PIECE = 512 * 1024; // bytes of a request; the server takes twice as many
const LOOK_MS = 500; // between two queries of a run's state
const KB = 1000;

// One list for the tab. It survives a change to another view and back.
const state = { files: [], run: null, error: undefined, busy: false };
const watchers = new Set();
const tell = () => watchers.forEach((one) => one());

/** Use what is being added. */
function useAdding() {
  const [, again] = useState(0);
  useEffect(() => {
    const one = () => again((count) => count + 1);
    watchers.add(one);
    return () => watchers.delete(one);
  }, []);
  return state;
}

/** Send files one after another, and have the server read them. */
async function addFiles(files, most) {
  if (state.busy || !files.length) return;
  Object.assign(state, { busy: true, error: undefined, run: null, files: files.map((file) => ({ file, name: file.name, size: file.size, sent: 0 })) });
  tell();
  for (const one of state.files) await send(one, most);
  if (state.files.some((one) => !one.error)) await run("");
  state.busy = false;
  tell();
}

async function send(one, most) {
  try {
    if (one.size > most) throw new Error(`larger than ${sized(most)}`);
    const { upload } = await ask("uploads", { name: one.name, size: one.size });
    while (one.sent < one.size) {
      const piece = one.file.slice(one.sent, one.sent + PIECE);
      ({ received: one.sent } = await sendPiece(`uploads/${upload}?offset=${one.sent}`, piece));
      tell();
    }
  } catch (error) {
    one.error = error.message;
    tell();
  }
}

/** Have the server read a source, or those of its settings, and follow the run to its end. */
async function run(source) {
  try {
    await ask("runs", { source });
    do {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      state.run = await ask("runs");
      tell();
    } while (state.run.running);
  } catch (error) {
    state.error = error;
  }
}

async function addSource(source) {
  if (state.busy || !source) return;
  Object.assign(state, { busy: true, error: undefined, run: null, files: [] });
  tell();
  await run(source);
  state.busy = false;
  tell();
}

const sized = (bytes) => (bytes < KB * KB ? `${number(Math.ceil(bytes / KB))} kB` : `${number(Math.round(bytes / KB / KB))} MB`);

/** Accept files dropped anywhere on the page. Without this, a browser would open them in place of the page. */
export function useDrops(adding) {
  useEffect(() => {
    if (!adding?.files) return undefined;
    const over = (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    };
    const drop = (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      go("add");
      addFiles([...event.dataTransfer.files], adding.most_bytes);
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, [adding?.files, adding?.most_bytes]);
}

export function Add({ adding }) {
  const { files, run: last, error, busy } = useAdding();
  if (!adding) return html`<h1>Add documents</h1><p>This server takes no documents from the page.</p>`;
  const submit = (event) => {
    event.preventDefault();
    addSource(new FormData(event.target).get("source").trim());
  };
  return html`
    <h1>Add documents</h1>
    ${adding.files && html`<div class="empty drop">
      <h2>Drop files here</h2>
      <p>Anywhere on the page, in fact; or <label class="chooser">choose files<input type="file" multiple disabled=${busy}
        onChange=${(event) => { addFiles([...event.target.files], adding.most_bytes); event.target.value = ""; }} /></label>.
      Up to ${sized(adding.most_bytes)} each. A file replaces one of the same name.</p>
    </div>`}
    <form class="ask named" onSubmit=${submit}>
      <label for="source">A folder of the server, or a URL</label>
      <input id="source" name="source" type="text" autocomplete="off" required placeholder="/srv/handbook, or an address" />
      <button disabled=${busy}>Add</button>
    </form>
    <p class="told">It is read once. To read it again with each run, name it in <code>sources</code> of <code>docmill.toml</code>.</p>
    <div role="status" aria-live="polite">
      ${error && html`<${Failure} error=${error} />`}
      ${files.length > 0 && html`<ul class="sent">${files.map((one) => html`<li><bdi>${one.name}</bdi>
        ${one.error ? html`<span class="low">${one.error}</span>` : html`<${Bar} share=${one.sent / one.size} label=${percent(one.sent / one.size)} />`}</li>`)}</ul>`}
      ${last && html`<${Progress} of=${last} />`}
    </div>
  `;
}

const DOING = { list: "Listing", fetch: "Fetching", parse: "Reading", embed: "Embedding", commit: "Committing" };

/** The progress of a run, or its result. */
function Progress({ of }) {
  if (of.failed) return html`<${Failure} error=${{ message: of.failed }} />`;
  if (of.running) {
    const { name, done, total, unit, percent: share } = of.phase ?? { name: "list", done: 0, total: 0, unit: "", percent: 0 };
    return html`<p>${DOING[name] ?? name}${unit && total ? `: ${number(done)} of ${number(total)} ${unit}` : " …"} <${Bar} share=${share / 100} label=${percent(share / 100)} /></p>`;
  }
  return html`<p class="good">${of.said}.</p>
    ${of.problems.length > 0 && html`<h2>${plural(of.problems.length, "problem")}</h2><ul class="plain">${of.problems.map((one) => html`<li>${one}</li>`)}</ul>
      <p><a href=${link("health", { see: "rejects" })}>All files that were refused</a></p>`}
    <p><a href=${link("documents", { order: "changed" })}>See the newest documents</a></p>`;
}
