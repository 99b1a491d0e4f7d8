// Changed: the lines that differ between two texts, with a few lines around them.
const AROUND = 2; // lines kept around a change, as `diff -U2` does
const MOST_CELLS = 4e6; // of the table of common lines (16 MB); larger changes are shown as one block

/** Return lines { kind: "gone" | "new" | "same" | "gap", text }, those far from a change left out. */
export function changed(before, after) {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let tail = 0;
  while (tail < old.length - start && tail < fresh.length - start && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  if (start === old.length && start === fresh.length) return [];
  const middle = edits(old.slice(start, old.length - tail), fresh.slice(start, fresh.length - tail));
  const same = (lines) => lines.map((text) => ({ kind: "same", text }));
  return thinned([...same(old.slice(Math.max(0, start - AROUND), start)), ...middle, ...same(old.slice(old.length - tail, old.length - tail + AROUND))]);
}

function edits(old, fresh) {
  const gone = (text) => ({ kind: "gone", text });
  const added = (text) => ({ kind: "new", text });
  if (old.length * fresh.length > MOST_CELLS) return [...old.map(gone), ...fresh.map(added)];
  const width = fresh.length + 1;
  const common = new Uint32Array((old.length + 1) * width); // length of the longest common subsequence after each pair
  for (let one = old.length - 1; one >= 0; one -= 1)
    for (let other = fresh.length - 1; other >= 0; other -= 1)
      common[one * width + other] = old[one] === fresh[other]
        ? 1 + common[(one + 1) * width + other + 1]
        : Math.max(common[(one + 1) * width + other], common[one * width + other + 1]);
  const found = [];
  let [one, other] = [0, 0];
  while (one < old.length || other < fresh.length) {
    if (one < old.length && other < fresh.length && old[one] === fresh[other]) found.push({ kind: "same", text: old[one++] }), (other += 1);
    else if (other === fresh.length || (one < old.length && common[(one + 1) * width + other] >= common[one * width + other + 1])) found.push(gone(old[one++]));
    else found.push(added(fresh[other++]));
  }
  return found;
}

/** Return the lines with a gap in place of those far from a change. */
function thinned(lines) {
  const near = lines.map((_, place) => lines.slice(Math.max(0, place - AROUND), place + AROUND + 1).some((one) => one.kind !== "same"));
  return lines.flatMap((line, place) => (near[place] ? [line] : near[place - 1] ? [{ kind: "gap", text: "⋯" }] : []));
}
