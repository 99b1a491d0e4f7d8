// Facets: the values by which a search can be filtered, with their counts for the current question.
import { html } from "./vendor/preact-htm.js";
import { ask, path, useAnswer } from "./ask.js";
import { asSql } from "./conditions.js";
import { Type, showing } from "./parts.js";
import { facets, isReport } from "./report.js";
import { lasting, link, useMedia } from "./state.js";
import { Term } from "./terms.js";
import { number } from "./words.js";

const MOST_VALUES = 12; // of a facet; more would push the others off the screen

// A facet: its name in the address, its label, and its name for the server and conditions.js.
const FACETS = [
  ["type", "Type", "content_type"],
  ["format", "Format", "format"],
  ["folder", "Folder", "folder"],
  ["lang", "Language", "lang"],
  ["year", "Year", "year"],
];
const DAYS = [["from", "From", ">="], ["to", "To", "<="]]; // the bounds of the date, both inclusive
const DATE = { name: "date", title: "Date", input: "date", told: "of the document, or of its file" };

// A key of [metadata] is in the address under its name and an operator: metadata.team.is, metadata.due.from.
const OF_KEY = /^metadata\.(\w+)\.(is|has|from|to)$/;
const ASKED = { is: "=", has: "has", from: ">=", to: "<=" };
const VALUES = { text: "is", bool: "is", list: "has" };
const RANGES = { date: "date", time: "datetime-local", number: "number" };

/** Return the condition of the facets and bounds in an address, ignoring the name `but`. */
export function conditions(place, but) {
  const given = (name) => place[name] !== undefined && place[name] !== "" && name !== but;
  const chosen = FACETS.filter(([name]) => given(name)).map(([name, , value]) => [value, "=", place[name]]);
  const days = DAYS.filter(([name]) => given(name)).map(([name, , operator]) => ["date", operator, place[name]]);
  const own = Object.keys(place).filter((name) => OF_KEY.test(name) && given(name)).map((name) => ofKey(name, place[name]));
  return [...chosen, ...days, ...own];
}

function ofKey(name, value) {
  const [, key, asked] = OF_KEY.exec(name);
  return [`metadata.${key}`, ASKED[asked], value];
}

export function Facets({ place, mode, set }) {
  const shared = useCounts(place, mode);
  const { keys = {}, hits } = shared ?? {};
  const wide = useMedia("(min-width: 60rem)"); // as in page.css
  const listed = Object.entries(keys).filter(([, kind]) => VALUES[kind]).map(([key, kind]) => [`metadata.${key}.${VALUES[kind]}`, key, `metadata.${key}`]);
  const ranges = Object.entries(keys).filter(([, kind]) => RANGES[kind]);
  return html`
    <details class="facets" open=${wide}>
      <summary>Filters</summary>
      ${hits != null && html`<p class="told">Counts of the ${hits === 1 ? "best hit" : `${hits} best hits`}</p>`}
      ${[...FACETS, ...listed].map(([name, title, value]) => html`<${Facet} key=${name} name=${name} title=${title} value=${value} place=${place} mode=${mode} set=${set} shared=${shared} />`)}
      <${Range} of=${DATE} names=${["from", "to"]} place=${place} set=${set} />
      ${ranges.map(([key, kind]) => html`<${Range} key=${key} of=${{ name: key, title: key, input: RANGES[kind] }} names=${[`metadata.${key}.from`, `metadata.${key}.to`]} place=${place} set=${set} />`)}
    </details>
  `;
}

/** Use the counts for the question and the conditions of an address, except one facet's. Without `asks`, there are none. */
function useCounts(place, mode, but, asks = true) {
  const { store, at } = lasting();
  const own = conditions(place, but);
  const asked = { q: (place.q ?? "").trim(), mode: mode === "beside" ? "hybrid" : mode };
  const values = { ...(asked.q && asked), where: isReport ? "" : asSql(own) };
  const key = asks ? `facets ${store} ${at} ${JSON.stringify([values, own])}` : null;
  return useAnswer(key, (signal) => (isReport ? facets(FACETS.map(([, , value]) => value), asked.q, own) : ask(path("facets", values), undefined, signal))).value;
}

/** The bounds of a date or a number, both inclusive. */
const Range = ({ of, names, place, set }) => html`
  <section class="days">
    <h2>${of.title}</h2>
    ${DAYS.map(([bound, title], side) => html`<label>${title}
      <input type=${of.input} step="any" ref=${showing(place[names[side]] ?? "")} aria-label=${`${of.title} ${title}`} data-bound=${bound}
        onChange=${(event) => set({ [names[side]]: event.target.value || undefined })} /></label>`)}
    ${of.told && html`<small>${of.told}</small>`}
  </section>
`;

/** The values of a facet. If one is chosen, the others are counted without its condition, to show what may replace it. */
function Facet({ name, title, value, place, mode, set, shared }) {
  const chosen = place[name];
  const without = useCounts(place, mode, name, chosen !== undefined);
  const found = ((chosen === undefined ? shared : without ?? shared)?.rows ?? []).filter((row) => row.facet === value);
  const rows = chosen === undefined || found.some((row) => row.value === chosen) ? found : [{ value: chosen, chunks: 0 }, ...found];
  if (rows.length < 2 && chosen === undefined) return null; // one value narrows nothing
  return html`
    <section data-facet=${value}>
      <h2>${name === "type" ? html`<${Term} of="type">${title}<//>` : title}</h2>
      <ul>
        ${rows.slice(0, MOST_VALUES).map((row) => html`<li>
          <button type="button" aria-pressed=${chosen === row.value} onClick=${() => set({ [name]: chosen === row.value ? undefined : row.value })}>
            ${name === "type" ? html`<${Type} of=${row.value} />` : html`<bdi>${row.value || "none"}</bdi>`}
            <span class="figure">${number(row.chunks)}</span>
          </button></li>`)}
      </ul>
      ${rows.length > MOST_VALUES && html`<p class="more"><a href=${link("documents")}>${rows.length - MOST_VALUES} more</a></p>`}
    </section>
  `;
}
