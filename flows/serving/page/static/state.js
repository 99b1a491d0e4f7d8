// State: the address after "#" contains what a view shows, so that links to it and the "back" button work.
import { useEffect, useState } from "./vendor/preact-htm.js";

/** Return the view and the values that an address names: "#/search?q=x" is { view: "search", q: "x" }. */
export function parse(hash) {
  const [view, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { ...Object.fromEntries(new URLSearchParams(query)), view: view || "search" };
}

/** Return the address of a view with these values; empty ones are left out. */
export function link(view, values = {}) {
  const kept = Object.entries({ ...lasting(), ...values }).filter(([, value]) => value !== "" && value != null);
  const query = new URLSearchParams(kept).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

/** Go to a view. While the user types, the entry in the browser's history is replaced and none is added. */
export function go(view, values = {}, replace = false) {
  const address = link(view, values);
  if (address === location.hash) return;
  if (replace) {
    history.replaceState(null, "", address);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = address;
  }
}

/** Use the view and values of the current address. */
export function usePlace() {
  const [place, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => set(parse(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place;
}

/** Use whether a media query such as "(min-width: 60rem)" matches. */
export function useMedia(condition) {
  const [holds, set] = useState(() => matchMedia(condition).matches);
  useEffect(() => {
    const media = matchMedia(condition);
    const changed = () => set(media.matches);
    changed();
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [condition]);
  return holds;
}

/** Return the store and snapshot of the address, which every view keeps. */
export function lasting() {
  const { store = "", at = "" } = parse(location.hash);
  return { store, at };
}
