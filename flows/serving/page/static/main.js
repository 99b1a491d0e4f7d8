// Main: the frame around every view, and the choice of the view by the address.
import { html, render, useEffect, useState } from "./vendor/preact-htm.js";
import { ask, noteSnapshot, path, setToken, token } from "./ask.js";
import { isReport } from "./report.js";
import { Busy, Empty, Failure } from "./parts.js";
import { go, link, parse, usePlace } from "./state.js";
import { Term } from "./terms.js";
import { number, time } from "./words.js";
import { Add, useDrops } from "./add.js";
import { Asked } from "./asked.js";
import { Chunks } from "./chunks.js";
import { Compare } from "./compare.js";
import { Document } from "./document.js";
import { Documents } from "./documents.js";
import { Health } from "./health.js";
import { Judgements } from "./judge.js";
import { ChunkMap } from "./map.js";
import { Queries } from "./queries.js";
import { Search } from "./search.js";

const VIEWS = { search: Search, add: Add, documents: Documents, health: Health, compare: Compare, map: ChunkMap, document: Document, chunks: Chunks, questions: Asked, judgements: Judgements, asked: Queries };
const TABS = [["search", "Search"], ["documents", "Documents"], ["map", "Map"], ["health", "Health"], ["compare", "Compare"]];
const LOOK_MS = 5000; // between two checks for a newer snapshot, each a few hundred bytes

function App() {
  const place = usePlace();
  const [state, set] = useState({});
  useEffect(() => look(place, set), [place.store, place.at]);
  useDrops(state.adding);
  useEffect(() => {
    document.title = `${place.uri ?? (place.q || place.view)} · docmill`;
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [place.view, place.uri]);
  if (state.error?.status === 401) return html`<${AskToken} again=${() => location.reload()} wrong=${token() !== null} />`;
  const View = VIEWS[place.view];
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Head} place=${place} served=${state} />
    <main id="main" tabindex="-1">
      ${state.error && html`<${Failure} error=${state.error} />`}
      ${!state.status && !state.error && html`<${Busy} what="Opening the store" />`}
      ${state.status && (View ? html`<${View} key=${`${place.view} ${place.store} ${place.uri} ${place.view === "add" ? "" : state.snapshot}`} place=${place} status=${state.status} stores=${state.stores} adding=${state.adding} />` : html`<${Unknown} />`)}
    </main>
  `;
}

const Unknown = () => html`<${Empty} title="There is no such view"><a href=${link("search")}>Go to the search.</a><//>`;

function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

/** Check for a newer snapshot regularly. Every view is rendered again when there is one. */
function look(place, set) {
  let [stopped, known] = [false, null];
  const once = async () => {
    try {
      const served = await ask(path("newest"));
      if (stopped || served.snapshot === known) return;
      noteSnapshot((known = served.snapshot));
      set(served);
    } catch (error) {
      known = null;
      if (!stopped) set((before) => ({ ...before, error }));
    }
  };
  once();
  const timer = place.at || isReport ? 0 : setInterval(once, LOOK_MS);
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

const Head = ({ place, served }) => html`
  <header>
    <a class="brand" href=${link("search")} aria-label="docmill, search"><img src="page/favicon.svg" alt="" width="24" height="24" /> <span class="name">docmill</span></a>
    <nav aria-label="Views">
      ${[...TABS, ...(served.adding ? [["add", "Add"]] : [])].map(([view, shown]) => html`<a href=${link(view)} aria-current=${place.view === view ? "page" : null}>${shown}</a>`)}
    </nav>
    ${served.status && html`<${Where} place=${place} served=${served} />`}
  </header>
`;

/** The menus for the store and the snapshot shown. */
function Where({ place, served: { stores, status } }) {
  return html`
    <div class="where">
      ${stores.length > 1 && html`<label class="needed">Store
        <select value=${place.store || stores[0]} onChange=${(event) => go(place.view, { store: event.target.value, at: "" })}>
          ${stores.map((name) => html`<option value=${name}>${name}</option>`)}
        </select></label>`}
      <span>${number(status.documents)} documents, ${number(status.chunks)} <${Term} of="chunk">chunks<//></span>
      <span class=${place.at ? "needed" : ""}><${Term} of="snapshot" /> ${status.snapshot}, ${time(status.created)}</span>
      ${status.vectors.pending > 0 && html`<span class="needed">vectors: ${Math.floor(100 * status.vectors.share)} %, keywords answer</span>`}
      ${Object.keys(status.poorly_read).length > 0 && html`<${PoorlyRead} languages=${Object.entries(status.poorly_read)} />`}
      ${isReport && html`<span class="needed">a report of <span class="figure">${time(status.made)}</span></span>`}
      ${place.at && html`<a class="needed" href=${link(place.view, { ...place, view: "", at: "" })}>to the newest</a>`}
    </div>
  `;
}

/** The languages that the embedding model knows badly, with the number of their documents. */
function PoorlyRead({ languages }) {
  const letters = languages.map(([lang, of]) => `${Math.round(100 * of.share)} % of the letters in ${lang}`).join(", ");
  const named = languages.map(([lang, of]) => `${lang} (${number(of.documents)})`).join(", ");
  return html`<span title=${`The embedding model cannot read ${letters}. Name a multilingual model.`}>vectors say little about documents in ${named}</span>`;
}

/** Ask for the token if the page was not opened by the address that contains it. */
function AskToken({ again, wrong }) {
  const take = (event) => {
    event.preventDefault();
    setToken(new FormData(event.target).get("token").trim());
    again();
  };
  return html`
    <main id="main" class="token">
      <h1>docmill</h1>
      <form onSubmit=${take}>
        <label>The token of this server: it is in the address that the server has printed, or in <code>DOCMILL_TOKEN</code>
          <input name="token" type="password" autocomplete="off" required autofocus /></label>
        <button>Open</button>
        ${wrong && html`<p role="alert">The server did not take this token.</p>`}
      </form>
    </main>
  `;
}

if (!parse(location.hash).view) go("search", {}, true);
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
