// Map: all chunks in two dimensions, with similar vectors near each other.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact-htm.js";
import { ask, path, useAnswer } from "./ask.js";
import { sqlOf, written } from "./conditions.js";
import { placeNames } from "./labels.js";
import { Answer, Choice, Empty, Excerpt, Failure, Nearest, Sql, ToDocument, Type } from "./parts.js";
import { isReport } from "./report.js";
import { Scatter } from "./scatter.js";
import { go, lasting, link, useMedia } from "./state.js";
import { colour } from "./types.js";
import { number, plural } from "./words.js";

const COLOURS = [["type", "Type"], ["strategy", "Strategy"], ["folder", "Folder"], ["date", "Date"], ["since", "Since snapshot"], ["twice", "Duplicates"], ["gaps", "Gaps"]];
// For each way of colouring, the question that it answers and its SQL.
const ASKED = {
  type: ["Which subjects does the store have, and of which type is each?", "SELECT content_type, count(*) AS chunks FROM chunks GROUP BY ALL ORDER BY chunks DESC"],
  strategy: ["Which strategy splits which subject?", "SELECT strategy, count(*) AS chunks FROM chunks GROUP BY ALL ORDER BY chunks DESC"],
  folder: ["Which folders are about the same things?", `SELECT ${sqlOf("folder")} AS folder, count(*) AS chunks FROM chunks GROUP BY ALL ORDER BY chunks DESC`],
  date: ["Which subjects are old?", "SELECT uri, stated, changed FROM freshness"],
  since: ["Where did the last runs change something?", "SELECT snapshot, started, chunks_added, chunks_removed FROM runs ORDER BY snapshot DESC"],
  twice: ["What is in several places?", "SELECT uri, other_uri, kind, similarity FROM duplicates"],
  gaps: ["Where is something missing, or read badly?", "SELECT uri, 'rejected' AS gap, message FROM rejects UNION ALL SELECT uri, kind, message FROM warnings"],
};
const [NO_GAP, GAPS] = ["nothing missing", ["read badly", "an older version", "beside a rejected file"]];
const GAP_COLOURS = { [NO_GAP]: "var(--line)", "read badly": "var(--bad)", "an older version": colour("faq"), "beside a rejected file": colour("code") };
const AGES = ["date", "since"]; // colourings by time, with the strongest shade for the newest
const MOST_AGES = 10; // more shades of one colour cannot be told apart
const PALETTE = ["code", "table", "slides", "data", "faq", "chat", "email", "log", "legal", "reference"]; // for values that are no content types
const PAUSE_MS = 120; // over a point before its text is requested
const SHORT = 400; // characters of a text, with the nearest chunks below
const LISTED = 100; // chunks linked from an encircled set; the view of chunks shows as many

export function ChunkMap({ place }) {
  const { store, at } = lasting();
  const made = useAnswer(`map ${store} ${at}`, (signal) => ask(path("map"), undefined, signal));
  return html`
    <h1>Map</h1>
    <${Answer} of=${made} what="Placing the chunks; the first map of a store takes some seconds">${(map) =>
      map.chunk_id.length === 0 ? html`<${Empty} title="Nothing to place">The store has no vectors yet.<//>` : html`<${Drawn} map=${map} place=${place} />`}<//>
  `;
}

/** Return the group of each point and the groups' names for the chosen colouring. */
function groups(map, by) {
  if (by === "twice") return { names: ["once", "several times"], of: map.twice };
  if (by === "gaps") {
    const names = [NO_GAP, ...GAPS];
    return { names, of: map.uri.of.map((one) => names.indexOf(map.gaps?.[one]?.kind ?? NO_GAP)) };
  }
  if (by === "since") return aged(map.since);
  if (by === "date") return aged(map.uri.of.map((one) => map.day[one]));
  if (by !== "folder") return map[by];
  const folders = map.uri.names.map((uri) => (uri.includes("/") ? `${uri.split("/")[0]}/` : "(top)"));
  const names = [...new Set(folders)].sort();
  return { names, of: map.uri.of.map((one) => names.indexOf(folders[one])) };
}

/** Return groups of times in order: years, months or days, whichever are few enough, with the oldest in one group. */
function aged(times) {
  const texts = times.map(String);
  const long = [10, 7, 4].find((length) => new Set(texts.map((one) => one.slice(0, length))).size <= MOST_AGES) ?? 4;
  const cut = texts.map((one) => (typeof times[0] === "number" ? one : one.slice(0, long)));
  const all = [...new Set(cut)].sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
  const shown = all.slice(-MOST_AGES);
  const names = all.length > MOST_AGES ? [`before ${shown[0]}`, ...shown] : shown;
  const places = new Map(names.map((name, place) => [name, place]));
  return { names, of: cut.map((one) => places.get(one) ?? 0) };
}

/** Return the shade for age `place` of `count`; the last is the newest. */
function shade(place, count) {
  const share = count > 1 ? place / (count - 1) : 1;
  return `light-dark(hsl(200 ${30 + 60 * share}% ${78 - 52 * share}%), hsl(200 ${25 + 65 * share}% ${30 + 48 * share}%))`;
}

const colourOf = (by, name, place, count) => by === "type" ? colour(name) : by === "gaps" ? GAP_COLOURS[name] : AGES.includes(by) ? shade(place, count)
  : by === "twice" ? colour(place ? "table" : "other") : colour(PALETTE[place % PALETTE.length]);

function Drawn({ map, place }) {
  const by = COLOURS.some(([name]) => name === place.by) ? place.by : "type";
  const group = useMemo(() => groups(map, by), [map, by]);
  const [over, setOver] = useState(-1);
  const [chosen, choose] = useState(null);
  const [encircling, encircle] = useState(false);
  const only = place.only;
  return html`
    <p class="asked"><b>${ASKED[by][0]}</b> Each point is a chunk. Chunks with similar meanings are near each other.
      ${by === "gaps" && " A rejected file has no chunks, so the documents next to it in its folder represent it."}</p>
    <div class="controls">
      <${Choice} label="Colour by" value=${by} of=${COLOURS} set=${(name) => go("map", { by: name })} />
      <button type="button" aria-pressed=${encircling} onClick=${() => encircle(!encircling)}>Encircle</button>
      <span class="told">${plural(map.chunk_id.length, "chunk")}${map.left_out > 0 && `, ${number(map.left_out)} left out`}${map.pending > 0 && ` (${number(map.pending)} wait for their vectors)`}. Zoom with the wheel or + and −,
        drag to move, press 0 to see all.</span>
    </div>
    <div class="map">
      <${Canvas} map=${map} group=${group} by=${by} only=${only} over=${setOver} choose=${choose} encircling=${encircling} />
      <aside aria-label="What the map shows">
        ${chosen ? html`<${Chosen} map=${map} points=${chosen} clear=${() => choose(null)} />` : over >= 0 ? html`<${Pointed} map=${map} point=${over} />` : html`<${Legend} group=${group} by=${by} only=${only} map=${map} />`}
      </aside>
    </div>
    <${Sql}>${ASKED[by][1]}<//>
  `;
}

function Canvas({ map, group, by, only, over, choose, encircling }) {
  const [canvas, lines, names, leaders] = [useRef(), useRef(), useRef(), useRef()];
  const scatter = useRef();
  const [failed, fail] = useState(null);
  const theme = useMedia("(prefers-color-scheme: dark)"); // the points follow the colours of the page
  const places = useMemo(() => {
    const flat = new Float32Array(2 * map.x.length);
    map.x.forEach((x, point) => flat.set([x / map.grid, map.y[point] / map.grid], 2 * point));
    return flat;
  }, [map]);
  const paint = useMemo(() => painted(group, by, only), [group, by, only, theme]);
  useEffect(() => {
    try {
      scatter.current = new Scatter(canvas.current, { over, chosen: choose, moved: (line) => (placeNames(names.current, leaders.current, scatter.current), trace(lines.current, line)) });
    } catch (error) {
      return fail(error);
    }
    scatter.current.take(places, paint.colours, paint.faint);
    return () => scatter.current.close();
  }, [places]);
  useEffect(() => scatter.current?.places && scatter.current.paint(paint.colours, paint.faint), [paint]);
  useLayoutEffect(() => { if (scatter.current) scatter.current.encircling = encircling; }, [encircling]); // at the same time as the button shows it
  if (failed) return html`<${Failure} error=${failed} />`;
  return html`
    <div class="canvas">
      <canvas ref=${canvas} tabindex="0" role="img" aria-label=${`Map of ${map.chunk_id.length} chunks. The list beside it has its clusters.`}></canvas>
      <svg ref=${lines} aria-hidden="true"><polyline /><path ref=${leaders} /></svg>
      <div ref=${names} class="names" aria-hidden="true">${map.labels.map((label) => html`<span data-x=${label.x} data-y=${label.y}>${label.words.join(" ")}</span>`)}</div>
    </div>
  `;
}

const trace = (svg, line) => svg?.firstElementChild.setAttribute("points", (line ?? []).map((one) => one.join(",")).join(" "));

/** Return the colours of the points, and which are faint because another group is shown alone. */
function painted(group, by, only) {
  const probe = document.createElement("span");
  document.body.append(probe);
  const palette = group.names.map((name, place) => {
    probe.style.color = colourOf(by, name, place, group.names.length);
    return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  });
  probe.remove();
  const colours = new Uint8Array(3 * group.of.length);
  group.of.forEach((one, point) => colours.set(palette[one], 3 * point));
  const faint = Uint8Array.from(group.of, (one) => (only !== undefined && group.names[one] !== only ? 1 : 0));
  return { colours, faint };
}

function Legend({ group, by, only, map }) {
  const counts = group.names.map(() => 0);
  group.of.forEach((one) => (counts[one] += 1));
  const order = [...counts.keys()].filter((one) => counts[one] > 0).sort((one, other) => (AGES.includes(by) ? other - one : counts[other] - counts[one]));
  return html`
    <h2>Colours</h2>
    ${by === "date" && html`<small>Of the document or, if it states no date, of its file.</small>`}
    ${by === "since" && html`<small>The oldest kept snapshot since which the store has the chunk.</small>`}
    <ul class="legend">${order.slice(0, 20).map((one) => html`<li>
      <button type="button" aria-pressed=${only === group.names[one]} onClick=${() => go("map", { by, only: only === group.names[one] ? "" : group.names[one] })}>
        <span class="type" style=${{ "--colour": colourOf(by, group.names[one], one, group.names.length) }}><bdi>${group.names[one]}</bdi></span>
        <span class="figure">${number(counts[one])}</span></button></li>`)}</ul>
    ${only !== undefined && group.names.includes(only) && html`<p><${Read} map=${map} points=${pointsOf(group, only)} title=${`Chunks: ${only}`} /></p>`}
    ${by === "gaps" && counts[0] === group.of.length && html`<p class="good">No file was rejected beside a document, and each document was read whole.</p>`}
    ${map.labels.length > 0 && html`<h2>Clusters</h2>
      <ol class="plain">${map.labels.map((label) => html`<li><a href=${link("search", { q: label.words.join(" ") })}>${label.words.join(", ")}</a>
        <span class="figure"> ${number(label.chunks)}</span></li>`)}</ol>`}
  `;
}

function Pointed({ map, point }) {
  const gap = map.gaps?.[map.uri.of[point]];
  const [late, set] = useState(null);
  useEffect(() => {
    const timer = setTimeout(() => set(map.chunk_id[point]), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [point]);
  const found = useAnswer(late && `chunk ${lasting().store} ${late}`, (signal) => ask(path(`chunks/${late}`), undefined, signal));
  return html`
    <h2><${ToDocument} uri=${map.uri.names[map.uri.of[point]]} chunk=${map.chunk_id[point]} /></h2>
    <p><${Type} of=${map.type.names[map.type.of[point]]} /> by <code>${map.strategy.names[map.strategy.of[point]]}</code></p>
    ${gap && html`<p class="warning"><b>${gap.kind}</b> ${gap.why}</p>`}
    ${found.value?.chunk.chunk_id === map.chunk_id[point] && html`<${Excerpt} of=${found.value.chunk} long=${SHORT} /><${Near} of=${found.value.chunk} />`}
  `;
}

/** The chunks whose vectors are nearest to one's, with their similarity. */
function Near({ of }) {
  const found = useAnswer(isReport ? null : `near ${lasting().store} ${lasting().at} ${of.chunk_id}`, (signal) => ask(path(`near/${of.chunk_id}`), undefined, signal));
  return found.value?.chunk_id === of.chunk_id && html`<h3>Nearest chunks</h3><${Nearest} hits=${found.value.hits} />`;
}

/** The link to the texts of points. */
const Read = ({ map, points, title }) => html`<a href=${link("chunks", { is: written([["chunk_id", "in", points.slice(0, LISTED).map((point) => map.chunk_id[point])]]), title })}>
  Read ${points.length > LISTED ? `the first ${LISTED}` : "them"}</a>`;

/** Return the points of a group. */
const pointsOf = (group, name) => [...group.of.keys()].filter((point) => group.names[group.of[point]] === name);

/** What was encircled: types, documents, and a link to the chunks. */
function Chosen({ map, points, clear }) {
  const documents = [...new Set(points.map((point) => map.uri.of[point]))];
  return html`
    <h2>${plural(points.length, "chunk")} of ${plural(documents.length, "document")}</h2>
    <p>${points.length > 0 && html`<${Read} map=${map} points=${points} title="Encircled chunks" /> `}
      <button type="button" onClick=${clear}>Back</button></p>
    <ul class="plain">${documents.slice(0, 20).map((one) => html`<li><${ToDocument} uri=${map.uri.names[one]} /></li>`)}</ul>
  `;
}
