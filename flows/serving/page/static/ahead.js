// Ahead: why a hit ranks before another one, from the scores that each step gave to both.

const SIDES = /(-?[\d.]+) from the vectors and (-?[\d.]+) from the keywords/; // the parts of a fused score, as the search explains it
const LEAST = 0.0005; // of a difference; a smaller one would be shown as 0.000
const NAMED = 3; // parts of the difference that are named; the others are small

/** Return the parts of a hit's score by origin: vectors and keywords, later steps, or only the words. */
function shares(hit) {
  const found = new Map();
  let before = 0;
  for (const step of hit.steps) {
    const sides = SIDES.exec(step.said);
    if (sides) found.set("the vectors", Number(sides[1])).set("the keywords", Number(sides[2]));
    else if (before) found.set(`the step ${step.step}`, (found.get(`the step ${step.step}`) ?? 0) + step.score - before);
    before = step.score;
  }
  if (found.size) return found;
  if (hit.vector_score != null && hit.keyword_score == null) return new Map([["the vectors", hit.vector_score]]);
  return new Map(Object.entries(hit.terms).map(([term, share]) => [`the word “${term}”`, share]));
}

/** Return in words why a hit is before or after another one of the same list. */
export function aheadOf(hit, other) {
  const [own, its] = [shares(hit), shares(other)];
  const differences = [...new Set([...own.keys(), ...its.keys()])]
    .map((name) => [name, (own.get(name) ?? 0) - (its.get(name) ?? 0)])
    .filter(([, value]) => Math.abs(value) >= LEAST)
    .sort(([, one], [, another]) => Math.abs(another) - Math.abs(one));
  const by = hit.score - other.score;
  if (Math.abs(by) < LEAST) return `As good as #${other.rank}: both have the same score.`;
  const stands = by > 0 ? "Ahead of" : "Behind";
  const why = differences.slice(0, NAMED).map(([name, value]) => `${Math.abs(value).toFixed(3)} ${value > 0 ? "more" : "less"} from ${name}`);
  return `${stands} #${other.rank} by ${Math.abs(by).toFixed(3)}${why.length ? `: ${why.join(", ")}` : ""}.`;
}
